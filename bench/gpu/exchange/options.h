// Options: what gpu_exchange is to measure, as its command line says.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace pace::gpu_bench {

inline constexpr int kSkipped = 77;

struct Options {
    std::string what;
    std::vector<std::string> endpoints;
    uint32_t workers = 2;
    uint64_t bytes = 4096;
    bool on_host = false;
    bool busy = false;  // each worker's GPU computes all the time, beside the exchanges
    // The number of GPUs. The workers take one each, in turn.
    uint32_t gpus = 1;
    int exchanges = 200;
    // Of several GPUs: how long the exchanges that are not counted last, in which NCCL connects
    // them.
    double warm_seconds = 10;
    // The density of a top-k reduction. 0 means all elements.
    double density = 0;
};

// Ends the process if the command line is wrong.
Options parse(int argc, char** argv);

// Says why, and ends the process.
[[noreturn]] void stop(const std::string& why, int status = 1);

}  // namespace pace::gpu_bench
