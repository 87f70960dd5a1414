// pace-sim: predicts how a job would run under each policy and group size. This file has only the
// command line.
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "service/simulator/choice/gain.h"
#include "service/simulator/choice/report.h"
#include "service/simulator/files/scenario_file.h"
#include "service/simulator/files/try_words.h"
#include "service/simulator/measured/from_status.h"
#include "service/simulator/measured/status_source.h"
#include "service/simulator/model/candidate.h"
#include "service/simulator/runs/predict.h"

namespace {

using namespace pace;

struct Arguments {
    std::string file;
    std::string job;
    std::string status;
    std::string endpoint;
    std::string bytes;
    bool prints_scenario = false;
    bool json = false;
    std::vector<std::string> policies;
    std::vector<std::string> quorums;
    std::vector<std::string> compressions;
    std::vector<uint32_t> group_sizes;
    std::optional<uint32_t> steps;
    std::optional<uint64_t> seed;
};

constexpr const char* kFooter =
    "A file is TOML:\n"
    "  [job]      bytes = \"100 MB\", or parameters and dtype (f32, f64, f16, bf16);\n"
    "             weights, alpha, missing, group_wait_ms, progress_gap as in a job's options\n"
    "  [step]     distribution = constant, normal, lognormal (mean_ms, cv), exponential, pareto\n"
    "             (mean_ms, min_ms) or trace (times_ms = [...]): how long a worker computes\n"
    "  [network]  latency_us = 50, controller_us = 500 (from a ready signal to its order);\n"
    "             between_zones_gbit, between_zones_latency_us: of what joins two zones\n"
    "  [[nodes]]  workers, count = 1, link_gbit = 10, memory_gbytes_per_s = 10, machine (a name:\n"
    "             nodes on it share both), zone, slow = 1 (factor of its steps), a step of their "
    "own\n"
    "  [[workers]] ranks = [...] with a slow or step of their own\n"
    "  [now]      policy, group_size, quorum, compression, density, staleness: how the job runs "
    "now\n"
    "  [try]      policies, group_sizes, quorums (solo, majority, majority-strict or a number),\n"
    "             compressions (none, f16, bf16, spardl), densities, staleness (of ssp)\n"
    "  [run]      steps (updates of the average worker), seed\n"
    "Columns: UPDATES/S of all workers; UPDATE, SLOWEST: seconds from one update of a worker to "
    "its\n"
    "next, of the median and the slowest worker; WAITING, EXCHANGING: shares of the workers' "
    "time;\n"
    "CONFLICTS: updates that waited because a member of the named group was in an earlier one;\n"
    "RHO: spectral gap, how slowly models mix, 1: never; SPREAD: squared distance of models from\n"
    "their mean, in units of one update; EFFECTIVE/S: UPDATES/S / (1 + SPREAD), what is chosen by.";

std::string words() {
    std::string all;
    for (const std::string_view word : simulator::simulated_policies().words)
        all += (all.empty() ? "" : ", ") + std::string(word);
    return all;
}

void declare_source(CLI::App& app, CLI::Option& file, Arguments& arguments) {
    CLI::Option* job = app.add_option("--from-job", arguments.job,
                                      "This running job, as its controller has measured it, "
                                      "instead of a file.");
    job->type_name("JOB-NAME")->excludes(&file);
    app.add_option(
           "--status", arguments.status,
           "What `pacectl status --json` has printed; - is standard input. Default: pacectl "
           "is asked.")
        ->type_name("FILE")
        ->needs(job);
    app.add_option("--endpoint", arguments.endpoint, "The daemon that pacectl asks: unix:PATH.")
        ->needs(job);
    app.add_option("--bytes", arguments.bytes,
                   "Size of the job's model, where nobody has measured it: \"100 MB\".")
        ->type_name("bytes")
        ->needs(job);
    app.add_flag("--print-scenario", arguments.prints_scenario,
                 "The job as a file to change and to give to pace-sim; predicts nothing.")
        ->needs(job);
}

void declare(CLI::App& app, Arguments& arguments) {
    app.set_version_flag("--version", "pace-sim " PACE_VERSION);
    CLI::Option* file = app.add_option("file", arguments.file, "The job and its cluster.");
    declare_source(app, *file, arguments);
    app.add_flag("--json", arguments.json, "A JSON document instead of a table.");
    app.add_option("--policy", arguments.policies, "Only these, not the file's: " + words() + ".")
        ->type_name("WORD")
        ->allow_extra_args(false);
    app.add_option("--group-size", arguments.group_sizes, "Only these, not the file's.")
        ->allow_extra_args(false);
    app.add_option("--quorum", arguments.quorums,
                   "All-reduce with this quorum as well: solo, majority, majority-strict, or a "
                   "number of workers.")
        ->type_name("WORD-OR-NUMBER")
        ->allow_extra_args(false);
    app.add_option("--compression", arguments.compressions,
                   "All-reduce with this compression as well: none, f16, bf16 or spardl.")
        ->type_name("WORD")
        ->allow_extra_args(false);
    app.add_option("--steps", arguments.steps, "Updates of the average worker to measure.")
        ->check(CLI::Range(5, 10'000));
    app.add_option("--seed", arguments.seed,
                   "The seed of every random choice. The same seed gives the same results.");
    app.footer(kFooter);
}

// The command line takes precedence over the file.
base::Result<> apply(const Arguments& arguments, simulator::Scenario& scenario) {
    if (!arguments.policies.empty()) {
        scenario.policies.clear();
        scenario.quorums.clear();
        scenario.compressions.clear();
    }
    PACE_TRY(simulator::try_policies(arguments.policies, scenario));
    PACE_TRY(simulator::try_quorums(arguments.quorums, scenario));
    PACE_TRY(simulator::try_compressions(arguments.compressions, scenario));
    if (!arguments.group_sizes.empty()) scenario.group_sizes = arguments.group_sizes;
    if (arguments.steps) scenario.steps = *arguments.steps;
    if (arguments.seed) scenario.seed = *arguments.seed;
    return simulator::check_candidates(scenario);
}

base::Result<simulator::FromStatus> measured(const Arguments& arguments) {
    std::optional<uint64_t> bytes;
    if (!arguments.bytes.empty()) {
        PACE_TRY_ASSIGN(given, simulator::parse_size(arguments.bytes));
        bytes = given;
    }
    if (!arguments.status.empty()) {
        PACE_TRY_ASSIGN(document, simulator::read_status(arguments.status));
        const std::string source = arguments.status == "-" ? "standard input" : arguments.status;
        return simulator::scenario_from_status(document, source, arguments.job, bytes);
    }
    PACE_TRY_ASSIGN(document, simulator::ask_pacectl(arguments.endpoint));
    return simulator::scenario_from_status(document, "what pacectl prints", arguments.job, bytes);
}

base::Result<std::string> predicted(const Arguments& arguments, simulator::Scenario scenario) {
    PACE_TRY(apply(arguments, scenario));
    PACE_TRY_ASSIGN(predictions, simulator::predict_all(scenario));
    PACE_TRY_ASSIGN(gain, simulator::gain_of(scenario, predictions));
    return arguments.json ? simulator::document(scenario, predictions, gain)
                          : simulator::table(scenario, predictions, gain);
}

base::Result<std::string> run(const Arguments& arguments) {
    if (!arguments.job.empty()) {
        PACE_TRY_ASSIGN(made, measured(arguments));
        if (arguments.prints_scenario) return made.file;
        return predicted(arguments, made.scenario);
    }
    if (arguments.file.empty())
        return base::make_error(base::ErrorKind::invalid,
                                "give a file, or --from-job and the name of a running job");
    PACE_TRY_ASSIGN(scenario, simulator::read_scenario(arguments.file));
    return predicted(arguments, scenario);
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app{
        "Predicts how a job would run under each policy and group size, with the controller's own "
        "core under a virtual clock, and says which to choose.",
        "pace-sim"};
    Arguments arguments;
    declare(app, arguments);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? 0 : 2;
    }
    const auto text = run(arguments);
    if (!text) {
        std::fprintf(stderr, "pace-sim: %s\n", text.error().message.c_str());
        return 2;
    }
    const bool written = std::fwrite(text->data(), 1, text->size(), stdout) == text->size();
    if (written && std::fflush(stdout) == 0) return 0;
    std::fputs("pace-sim: standard output takes no more\n", stderr);
    return 1;
}
