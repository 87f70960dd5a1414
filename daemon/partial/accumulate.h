// accumulate: the loops of a RunningSum, over one buffer. Accumulators are f64 for f64 and f32 for all
// else; what is not a number becomes the positive quiet NaN. Nothing need be aligned; no overlap. Any
// thread; neither blocks nor allocates.
#pragma once

#include <cstddef>

#include "protocol/types.h"

namespace pace::partial {

constexpr protocol::DType accumulator_of(protocol::DType dtype) {
    return dtype == protocol::DType::f64 ? protocol::DType::f64 : protocol::DType::f32;
}

// sum[i] += result[i], each addition rounded to the accumulator's type; the first is not added to
// zero but taken as it is.
void accumulate(protocol::DType dtype, std::byte* sum, const std::byte* result, size_t count,
                bool is_first);

// Writes accumulators as elements of `dtype`, rounded to nearest, ties to even.
void round_to(protocol::DType dtype, const std::byte* sum, std::byte* out, size_t count);

}  // namespace pace::partial
