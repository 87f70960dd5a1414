// skewed.h: the microbenchmark of eager-SGD (Li et al., PPoPP 2020, Figures 8 and 9).
#pragma once

#include "bench/common/measure.h"

namespace pace::bench {

// options.iterations times: the workers meet, then worker r calls (r + 1) * options.skew_ms after the
// meeting. An iteration's time is the mean that the workers spent in the call; "active" in the report is
// how many were in time, on average.
//
// Worker r brings r + 1. Where nobody may be left out, everyone must get the sum of all; else what
// all have been given by the end must be the same, and no more than was brought.
void measure_skewed(const Options& options, Scoreboard& board, const Subject& subject);

}  // namespace pace::bench
