// halves: converts runs of floats to f16 or bf16 and back, several elements at a time. The
// conversion rounds as base/half.h does. It serves data about to be sent. Both memory blocks may
// have any alignment, but must not overlap. Any thread may call these functions. They do not block
// or allocate.
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
