// halves: runs of floats as f16 or bf16 and back, as base/half.h rounds them, several at a
// time; for what is about to travel. Both blocks of memory may lie anywhere, but not overlap. Any
// thread; does not block or allocate.
#pragma once

#include <cstddef>
#include <span>

#include "protocol/types.h"

namespace pace::collectives {

// out[i] = half(in[i]); `half` is f16 or bf16.
void narrow(protocol::DType half, std::span<const float> in, std::byte* out);

// out[i] = in[i], exactly; NaNs keep their payload.
void widen(protocol::DType half, const std::byte* in, std::span<float> out);

}  // namespace pace::collectives
