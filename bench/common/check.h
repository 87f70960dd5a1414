// check.h: whether an exchange computes what it claims. Each function ends the process with status 1
// and a sentence when it does not.
#pragma once

#include <span>

#include "bench/common/measure.h"

namespace pace::bench {

// The sum of 1 .. world, which an exchange must give when worker r brings r + 1.
float expected_sum(const Options& options);

// Every element is `expected`.
void check_elements(const Options& options, std::span<const float> buffer, float expected);

// One dense exchange of whole numbers; leaves zeros.
void check_dense_exchange(const Options& options, Scoreboard& board, const Subject& subject);

// One sparse exchange of what the buffer holds: all workers get the same bits, of which no more are
// not zero than the workers' own choices together.
void check_sparse_exchange(const Options& options, Scoreboard& board, const Subject& subject);

}  // namespace pace::bench
