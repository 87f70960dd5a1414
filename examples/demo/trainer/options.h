// Options: the command line of one worker.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace demo {

struct Options {
    // The job.
    std::string endpoint;  // empty means this node's daemon
    std::string job = "demo";
    std::string policy = "partial-reduce";  // of the averaging family; or "all-reduce"
    std::string weights = "constant";       // or "dynamic"
    std::string missing = "closest";        // or "initial"
    double alpha = 0.5;
    uint32_t rank = 0;
    uint32_t world = 1;
    uint32_t group_size = 3;

    // Options of all-reduce. pace.h explains them.
    std::string quorum = "all";  // or "solo", "majority", "majority-strict", "count"
    uint32_t quorum_count = 0;
    std::string late = "accumulate";  // or "drop"
    std::string divide_by = "world";  // or "contributors"
    uint32_t staleness_max = 0;       // 0 means the default
    uint32_t resync_every = 0;
    std::string compression = "none";  // or "spardl"
    std::string residuals = "global";  // or "partial", "local"
    double density = 0.01;
    uint32_t teams = 0;
    std::string dense_fallback = "automatic";  // or "never"

    // The training.
    std::string data = "/usr/share/datasets/fashion-mnist";
    uint64_t seed = 1;
    uint64_t steps_max = 100'000;
    int hidden = 128;
    int batch = 64;
    float learning_rate = 0.02F;
    float momentum = 0.9F;
    bool anneal = false;  // the learning rate falls linearly to 0 at steps_max

    // The pace. A step lasts step_ms × slowdown, and the imbalance adds more (tempo.h). The worker
    // sleeps for the time that the computation leaves.
    double step_ms = 30;
    double slowdown = 1;
    std::string imbalance = "none";  // or "one", "all"
    double delay_ms = 0;

    // The measuring.
    std::string board;   // the evaluator's file; empty means none
    std::string events;  // a file for one JSON line per exchange; empty means none

    bool is_all_reduce() const { return policy == "all-reduce"; }
    // Returns whether groups take turns. Then all workers average equally often.
    bool averages_by_turns() const { return policy == "prague-static"; }
    bool waits_for_all() const { return quorum == "all"; }
};

// Returns nothing if the process should exit with *ret_exit_code, after a wrong command line or
// --help.
std::optional<Options> parse_options(int argc, char** argv, int* ret_exit_code);

}  // namespace demo
