// options.h: the command line that every worker understands. So bench/run starts each
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
    std::string interface;  // network interface, if the implementation needs its name
    std::string store;      // rendezvous folder (Gloo)
    std::string endpoint;   // the daemon's endpoint (Pace)
    std::string job;        // name of the job (Pace)
    uint32_t rank = 0;
    uint32_t world = 1;
    size_t bytes = 4096;          // bytes of float32 in each worker's buffer
    double seconds = 0.5;         // how long to measure
    uint32_t iterations_min = 5;  // measured even if they take longer than that
    bool yield = false;           // yield the processor while waiting (MPICH)
    // Rank r calls (r + 1) times this late. 0 means that all workers call at once.
    double skew_ms = 0;
    // The number of iterations with a skew. `seconds` does not count then.
    uint32_t iterations = 0;
    // The share of the elements that a sparse exchange moves. 0 means a dense exchange.
    double density = 0;
};

// Ends the process with a usage line if it does not understand the arguments.
Options parse_options(int argc, char** argv);

}  // namespace pace::bench
