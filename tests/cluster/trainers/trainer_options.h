// The options of the trainer of the cluster tests.
#pragma once

#include <cstdint>
#include <string>

namespace pace::cluster {

struct TrainerOptions {
    std::string endpoint;
    std::string job = "test";
    std::string mode = "reduce";
    std::string policy = "partial-reduce";  // used in mode average
    uint32_t rank = 0;
    uint32_t world = 1;
    uint32_t group_size = 0;
    std::string weights = "constant";
    std::string missing = "closest";
    // "all", "solo", "majority", "strict" or a number.
    std::string quorum = "all";
    std::string late = "accumulate";
    // This option and the next four are used in mode sparse.
    std::string compression = "spardl";
    std::string hierarchy = "node";
    uint32_t teams = 1;
    double density = 0.1;
    bool save = false;  // save residuals after every step
    uint64_t steps = 10;
    uint64_t elements = 1000;
    uint32_t tensors = 1;
    uint32_t step_us = 0;
    uint32_t checkpoint_every_ms = 0;
    uint32_t connect_ms = 10000;
    bool retry = true;  // go on after outcomes that tell to
    // Concerns averages: "forward" or "backward". Empty means that all is ready at the call.
    std::string order = {};
    // Concerns averages: the trainer goes on with its buffers meanwhile.
    bool keep_local = false;
    // Announces each average at the start of its step.
    bool announce = false;
    // Buffers are on the first GPU, or on the GPU with the number of the rank. The GPUs are
    // simulated ones, whose memory the processor sees.
    bool on_gpu = false;
    bool on_own_gpu = false;
    bool hold = false;  // when done, stay in the job until standard input closes
};

// Ends the program, with a message on standard error, if there is an unknown flag.
TrainerOptions parse_trainer_options(int argc, char** argv);

}  // namespace pace::cluster
