// measure.h: the loop that measures every implementation.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "bench/common/options.h"
#include "bench/common/scoreboard.h"

namespace pace::bench {

// The subject that a worker of one implementation gives to the loop.
struct Subject {
    std::span<float> buffer;  // reduced in place
    // The value of every element, when worker r contributed r + 1.
    float expected = 0;
    std::function<void()> exchange;  // one whole exchange, blocking
    // Keeps the library going while its caller waits elsewhere.
    std::function<void()> progress;
    std::string version;  // of the library, for the report

    // The functions below are optional.

    // Called before each sparse exchange, when the buffer is filled.
    std::function<void()> prepare;
    // Returns whether this worker was in time in the last exchange. Without the function all
    // workers are in time.
    std::function<bool()> in_time;
    // Returns the bytes received over the network in the last exchange, without headers.
    std::function<uint64_t()> received;
};

// Checks one exchange, warms up, then measures. Exchanges begin at a common barrier and go on for
// options.seconds. The time of an exchange is the longest that any worker spent in the call. With
// options.skew_ms, the measurement follows skewed.h instead. Rank 0 writes a report (report.h) to
// options.out. Ends the process with status 1 if a result is wrong.
//
// With options.density the buffer gets this worker's gradient before each exchange (gradient.h).
// The bytes that options.interface receives are counted.
void measure(const Options& options, Scoreboard& board, const Subject& subject);

}  // namespace pace::bench
