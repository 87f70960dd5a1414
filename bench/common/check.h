// check.h: checks that an exchange computes what it claims. If it does not, each function ends the
// process with status 1 and a sentence.
#pragma once

#include <span>

#include "bench/common/measure.h"

namespace pace::bench {

// Returns the sum of 1 .. world. An exchange must give this sum when worker r contributes r + 1.
float expected_sum(const Options& options);

// Checks that every element is `expected`.
void check_elements(const Options& options, std::span<const float> buffer, float expected);

// Checks one dense exchange of whole numbers. Leaves zeros in the buffer.
void check_dense_exchange(const Options& options, Scoreboard& board, const Subject& subject);

// Checks one sparse exchange of the buffer's contents. All workers must get the same bits. The
// number of elements that are not zero must not exceed the workers' own choices together.
void check_sparse_exchange(const Options& options, Scoreboard& board, const Subject& subject);

}  // namespace pace::bench
