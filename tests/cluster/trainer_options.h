// What the trainer of the cluster tests is told to do.
#pragma once

#include <cstdint>
#include <string>

namespace pace::cluster {

struct TrainerOptions {
    std::string endpoint;
    std::string job = "test";
    std::string mode = "reduce";
    std::string policy = "partial-reduce";  // in mode average
    uint32_t rank = 0;
    uint32_t world = 1;
    uint32_t group_size = 0;
    std::string weights = "constant";
    std::string missing = "closest";
    std::string quorum = "all";  // or solo, majority, strict, a number
    std::string late = "accumulate";
    std::string compression = "spardl";  // of mode sparse, as the next four
    std::string hierarchy = "node";
    uint32_t teams = 1;
    double density = 0.1;
    bool save = false;  // what is owed, after every step
    uint64_t steps = 10;
    uint64_t elements = 1000;
    uint32_t tensors = 1;
    uint32_t step_us = 0;
    uint32_t checkpoint_every_ms = 0;
    uint32_t connect_ms = 10000;
    bool retry = true;  // go on after outcomes that say so
    std::string order =
        {};  // of averages: "forward" or "backward"; empty: all is ready at the call
    bool keep_local = false;  // of averages: the trainer goes on with its buffers meanwhile
    bool announce = false;    // each average, at the start of its step
    // Buffers on the first GPU, or on one of its rank's number: simulated ones, whose memory the processor sees.
    bool on_gpu = false;
    bool on_own_gpu = false;
    bool hold = false;  // when done, stay in the job until standard input closes
};

// Ends the program, with a word on standard error, if there is a flag that it does not know.
TrainerOptions parse_trainer_options(int argc, char** argv);

}  // namespace pace::cluster
