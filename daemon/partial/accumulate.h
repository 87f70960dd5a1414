// accumulate: the loops of a RunningSum, over one buffer. The accumulators are f64 for f64 and f32
// for all other types. Every NaN becomes the positive quiet NaN. The buffers need no alignment and
// must not overlap. The functions may be called in any thread. They neither block nor allocate.
#pragma once

#include <cstddef>

#include "protocol/types.h"

namespace pace::partial {

constexpr protocol::DType accumulator_of(protocol::DType dtype) {
    return dtype == protocol::DType::f64 ? protocol::DType::f64 : protocol::DType::f32;
}

// sum[i] += result[i]. Each addition is rounded to the accumulator's type. The first result is not
// added to zero but taken as it is.
void accumulate(protocol::DType dtype, std::byte* sum, const std::byte* result, size_t count,
                bool is_first);

// Writes accumulators as elements of `dtype`, rounded to nearest, ties to even.
void round_to(protocol::DType dtype, const std::byte* sum, std::byte* out, size_t count);

}  // namespace pace::partial
