// skewed.h: the microbenchmark of eager-SGD (Li et al., PPoPP 2020, Figures 8 and 9).
#pragma once

#include "bench/common/measure.h"

namespace pace::bench {

// Repeats options.iterations times: the workers meet, then worker r calls (r + 1) * options.skew_ms
// after the meeting. An iteration's time is the mean time of the workers in the call. "active" in
// the report is the average number of workers that were in time.
//
// Worker r contributes r + 1. Where no worker may be left out, every worker must get the sum of
// all. Otherwise the total of all results must be the same at every worker by the end, and no more
// than was contributed.
void measure_skewed(const Options& options, Scoreboard& board, const Subject& subject);

}  // namespace pace::bench
