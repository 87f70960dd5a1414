// demo-evaluator: watches one run. At fixed intervals it collects the model of every worker,
// averages the models, measures the average on the whole test set, and prints one JSON line. When
// the mean of the last three accuracies has reached the target, it stops the run.
//
// A model's time is the time when its last part was handed in, not the end of its measurement. The
// workers train on meanwhile. So the measurement is not part of the measured time.
#include <algorithm>
#include <cstdio>
#include <deque>
#include <exception>
#include <numeric>
#include <thread>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "board.h"
#include "dataset.h"
#include "network.h"

namespace demo {
namespace {

constexpr size_t kSmoothed = 3;

struct EvaluatorOptions {
    std::string board;
    std::string data = "/usr/share/datasets/fashion-mnist";
    uint32_t world = 1;
    int hidden = 128;
    double target = 0.86;
    double interval_ms = 500;
    double seconds_max = 600;
};

void print(const nlohmann::json& line) {
    fmt::print("{}\n", line.dump());
    std::fflush(stdout);
}

struct Measurement {
    double seconds = 0;
    double accuracy = 0;
    nlohmann::json steps = nlohmann::json::array();  // of each worker
    uint64_t exchanges = 0;                          // rounds, or groups of all workers
};

Measurement measure(const Board& board, Network* network, const Dataset& tests) {
    Eigen::VectorXf mean =
        Eigen::VectorXf::Zero(static_cast<Eigen::Index>(network->parameter_count()));
    Measurement result;
    int64_t last_ns = 0;
    for (uint32_t rank = 0; rank < board.workers(); ++rank) {
        const BoardSlot& slot = board.slot(rank);
        mean += Eigen::Map<const Eigen::VectorXf>(board.model(rank).data(), mean.size());
        last_ns = std::max(last_ns, slot.handed_in_ns.load());
        result.steps.push_back(slot.steps.load());
        result.exchanges += slot.exchanges;
    }
    mean /= static_cast<float>(board.workers());
    result.seconds = static_cast<double>(last_ns - board.started_ns()) / 1e9;
    result.accuracy = accuracy_of(network, {mean.data(), static_cast<size_t>(mean.size())}, tests);
    return result;
}

void evaluate(const EvaluatorOptions& options) {
    Network network(options.hidden);
    Board board = Board::create(options.board, options.world, network.parameter_count());
    const Dataset tests = load_dataset(options.data, "t10k");
    print({{"event", "ready"}});

    board.wait_for_start();
    std::deque<double> last;
    const auto begin = std::chrono::steady_clock::now();
    for (int round = 1; !board.should_stop(); ++round) {
        std::this_thread::sleep_until(
            begin + round * std::chrono::duration_cast<std::chrono::nanoseconds>(
                                std::chrono::duration<double, std::milli>(options.interval_ms)));
        board.ask_for_models();
        board.wait_for_models();
        const Measurement now = measure(board, &network, tests);
        last.push_back(now.accuracy);
        if (last.size() > kSmoothed) last.pop_front();
        const double smoothed =
            std::accumulate(last.begin(), last.end(), 0.0) / static_cast<double>(last.size());
        const bool reached = last.size() == kSmoothed && smoothed >= options.target;
        print({{"event", "accuracy"},
               {"seconds", now.seconds},
               {"accuracy", now.accuracy},
               {"smoothed", smoothed},
               {"reached", reached},
               {"steps", now.steps},
               {"exchanges", now.exchanges}});
        // The line is printed before the run is stopped, so that no process sees the end of a run
        // before its last line.
        if (reached || now.seconds >= options.seconds_max) board.stop();
    }
}

}  // namespace
}  // namespace demo

int main(int argc, char** argv) {
    demo::EvaluatorOptions options;
    CLI::App app("Measures the average of the demo's workers on the test set of Fashion-MNIST.");
    app.option_defaults()->always_capture_default();
    app.add_option("--board", options.board, "file to make, for the workers to open")->required();
    app.add_option("--data", options.data, "folder of the Fashion-MNIST files");
    app.add_option("--world", options.world, "number of workers")->check(CLI::PositiveNumber);
    app.add_option("--hidden", options.hidden, "hidden units")->check(CLI::PositiveNumber);
    app.add_option("--target", options.target, "accuracy at which the run stops");
    app.add_option("--interval-ms", options.interval_ms, "time between two measurements");
    app.add_option("--seconds-max", options.seconds_max, "time at which the run stops anyway");
    CLI11_PARSE(app, argc, argv);
    try {
        demo::evaluate(options);
    } catch (const std::exception& error) {
        fmt::print(stderr, "evaluator: {}\n", error.what());
        return 1;
    }
    return 0;
}
