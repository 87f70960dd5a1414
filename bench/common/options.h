// options.h: the command line that every worker understands, so that bench/run starts each
// implementation with the same words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace pace::bench {

struct Options {
    std::string board;      // file of the scoreboard, shared by the workers of this measurement
    std::string out;        // rank 0 writes its JSON object here
    std::string algorithm;  // what to run, in the words of the implementation
    std::string interface;  // network interface, where the implementation must be told
    std::string store;      // rendezvous folder (Gloo)
    std::string endpoint;   // the daemon's endpoint (Pace)
    std::string job;        // name of the job (Pace)
    uint32_t rank = 0;
    uint32_t world = 1;
    size_t bytes = 4096;          // of float32 in each worker's buffer
    double seconds = 0.5;         // how long to measure
    uint32_t iterations_min = 5;  // measured even when they take longer than that
    bool yield = false;           // give the processor away while waiting (MPICH)
    double skew_ms = 0;           // rank r calls (r + 1) times this late; 0: everyone calls at once
    uint32_t iterations = 0;      // how many with a skew, where `seconds` does not count
    double density = 0;  // share of the elements that a sparse exchange moves; 0: a dense one
};

// Ends the process with a usage line when the arguments are not understood.
Options parse_options(int argc, char** argv);

}  // namespace pace::bench
