// measure.h: the loop that every implementation is measured with.
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

    // Of those that have them.
    std::function<void()> prepare;       // before each sparse exchange, when the buffer is filled
    std::function<bool()> in_time;       // whether this worker was, in the last; else all are
    std::function<uint64_t()> received;  // bytes over the network in the last, without headers
};

// Checks one exchange, warms up, then measures: exchanges at a common barrier for options.seconds,
// whose time is the longest that any worker spent in the call, or, with options.skew_ms, as
// skewed.h says. Rank 0 writes a report (report.h) to options.out. Ends the process with status 1
// when a result is wrong.
//
// With options.density the buffer gets this worker's gradient before each exchange (gradient.h), and
// what options.interface receives is counted.
void measure(const Options& options, Scoreboard& board, const Subject& subject);

}  // namespace pace::bench
