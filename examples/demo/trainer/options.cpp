#include "options.h"

#include <CLI/CLI.hpp>

namespace demo {

namespace {

void add_job_options(CLI::App& app, Options& options) {
    app.add_option("--endpoint", options.endpoint, "the daemon, as unix:PATH; none: this node's");
    app.add_option("--job", options.job, "name of the job");
    app.add_option("--policy", options.policy, "who exchanges with whom")
        ->check(CLI::IsMember({"all-reduce", "partial-reduce", "prague-random", "prague-smart",
                               "ad-psgd", "full", "prague-static", "auto"}));
    app.add_option("--weights", options.weights, "weights of partial reduce")
        ->check(CLI::IsMember({"constant", "dynamic"}));
    app.add_option("--missing", options.missing, "who gets the weight of an absent iteration")
        ->check(CLI::IsMember({"closest", "initial"}));
    app.add_option("--alpha", options.alpha, "decay of the dynamic weights");
    app.add_option("--rank", options.rank, "this worker");
    app.add_option("--world", options.world, "number of workers")->check(CLI::PositiveNumber);
    app.add_option("--group-size", options.group_size,
                   "workers in a group; 0: the policy's default");
}

void add_round_options(CLI::App& app, Options& options) {
    app.add_option("--quorum", options.quorum, "whom a round of all-reduce waits for")
        ->check(CLI::IsMember({"all", "solo", "majority", "majority-strict", "count"}));
    app.add_option("--quorum-count", options.quorum_count, "how many, with --quorum count");
    app.add_option("--late", options.late,
                   "what becomes of a gradient that its round did not wait for")
        ->check(CLI::IsMember({"accumulate", "drop"}));
    app.add_option("--divide-by", options.divide_by,
                   "what the sum is divided by, where not all are waited for")
        ->check(CLI::IsMember({"world", "contributors"}));
    app.add_option("--staleness-max", options.staleness_max,
                   "rounds that a gradient may wait; 0: the default");
    app.add_option("--resync-every", options.resync_every,
                   "rounds between averages of the models; 0: none");
    app.add_option("--compression", options.compression, "what of the steps travels between nodes")
        ->check(CLI::IsMember({"none", "spardl"}));
    app.add_option("--residuals", options.residuals, "what of the cut comes again")
        ->check(CLI::IsMember({"global", "partial", "local"}));
    app.add_option("--density", options.density, "share of the elements that travels");
    app.add_option("--teams", options.teams, "teams of SparDL; 0: chosen");
    app.add_option("--dense-fallback", options.dense_fallback,
                   "whether dense is used where it is faster")
        ->check(CLI::IsMember({"automatic", "never"}));
}

void add_training_options(CLI::App& app, Options& options) {
    app.add_option("--data", options.data, "folder of the Fashion-MNIST files");
    app.add_option("--seed", options.seed, "of the initial model and the order of the data");
    app.add_option("--steps-max", options.steps_max, "local steps after which the worker leaves");
    app.add_option("--hidden", options.hidden, "hidden units")->check(CLI::PositiveNumber);
    app.add_option("--batch", options.batch, "examples in a step")->check(CLI::PositiveNumber);
    app.add_option("--learning-rate", options.learning_rate, "of gradient descent");
    app.add_option("--momentum", options.momentum, "share of the last step kept in the next");
    app.add_flag("--anneal", options.anneal, "the learning rate falls to 0 at --steps-max");
}

void add_speed_options(CLI::App& app, Options& options) {
    app.add_option("--step-ms", options.step_ms, "a step's time; what it does not use is slept");
    app.add_option("--slowdown", options.slowdown, "a step lasts so many times as long");
    app.add_option("--imbalance", options.imbalance, "who is delayed in a step, in turn")
        ->check(CLI::IsMember({"none", "one", "all"}));
    app.add_option("--delay-ms", options.delay_ms, "the unit of the imbalance's delays");
}

}  // namespace

std::optional<Options> parse_options(int argc, char** argv, int* ret_exit_code) {
    Options options;
    CLI::App app("One worker of the demo: trains a small network on Fashion-MNIST through Pace.");
    app.option_defaults()->always_capture_default();
    add_job_options(app, options);
    add_round_options(app, options);
    add_training_options(app, options);
    add_speed_options(app, options);
    app.add_option("--board", options.board, "the evaluator's file");
    app.add_option("--events", options.events, "file for one JSON line per exchange");
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        *ret_exit_code = app.exit(error);
        return std::nullopt;
    }
    return options;
}

}  // namespace demo
