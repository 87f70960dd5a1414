// measure.h: the loop that every implementation is measured with, and the check that it computes
// what it claims.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "bench/common/options.h"
#include "bench/common/scoreboard.h"

namespace pace::bench {

// What a worker of one implementation hands to the loop.
struct Subject {
    std::span<float> buffer;         // reduced in place
    float expected = 0;              // in every element, when worker r brought r + 1
    std::function<void()> exchange;  // one whole exchange, blocking
    std::function<void()> progress;  // what the library needs while its caller waits elsewhere
    std::string version;             // of the library, for the report
};

// Checks one exchange, warms up, then measures for options.seconds. Each iteration begins at a common
// barrier; its time is the longest that any worker spent in the call. Rank 0 writes
// {"samples_s": [...], "peak_rss_bytes": ..., "version": ...} to options.out. Ends the process with
// status 1 when the result of the exchange is wrong.
void measure(const Options& options, Scoreboard& board, const Subject& subject);

// The sum of 1 .. world, which an exchange must give when worker r brings r + 1.
float expected_sum(const Options& options);

}  // namespace pace::bench
