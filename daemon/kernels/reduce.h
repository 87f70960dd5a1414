// reduce: weighted sums of buffers, the arithmetic of every dense exchange.
//
//     out[i] = round(scale · Σ_k weight_k · x_k[i])
//
// Half types and f32 accumulate in f32, f64 in f64. The sum is rounded to the element type once, at
// the end.
//
// The result is the same, bit for bit, on every machine and however a range is cut into pieces:
//  * The sum runs strictly in the order of the sources. It starts with the first product, not
//    zero.
//  * A product is rounded before it is added. A fused multiply-add would be as exact and as fast,
//    since memory is the limit. But processors without it would have to emulate it slowly.
//  * Weights and scale are rounded once to the accumulator's type. A weight or scale of exactly 1
//    costs no multiplication and changes no bit.
//  * A mean does not overflow because its unscaled sum does. If the scale is below 1, a power of
//    two first moves from the scale to the weights (headroom.h). This changes no bit of a normal
//    number.
//  * Rounding to f16 and bf16 is to nearest, ties to even, including subnormals. Values that are
//    too large become infinite.
//  * A result that is not a number is always the positive quiet NaN without payload, because
//    processors differ in which operand's payload they keep.
//
// The calling thread must have the default floating-point environment (no flush to zero), as
// WorkerPool's threads have.
#pragma once

#include <cstddef>
#include <span>

#include "protocol/types.h"

namespace pace::kernels {

// One addend. `data` need not be aligned.
struct Source {
    const std::byte* data = nullptr;
    double weight = 1.0;
};

// Writes elements [first, first + count) of the weighted sum to out[0 .. count). Without sources
// the sum is zero. `out` may be exactly the memory read from a source, but must not overlap it
// partially. Any thread may call this function. It does not block or allocate.
void weighted_sum(protocol::DType dtype, std::span<const Source> sources, double scale,
                  std::byte* out, size_t count, size_t first = 0);

// Writes elements [first, first + count) of the sum to the same elements of each of `outs`, in one
// pass over memory. `outs` are usually the sources themselves (an in-place all-reduce among the
// members of a node), but may be other memory. The rules of weighted_sum() apply.
void weighted_sum_into_all(protocol::DType dtype, std::span<const Source> sources, double scale,
                           std::span<std::byte* const> outs, size_t count, size_t first = 0);

// Copies `bytes` bytes of `source` to each of `outs`, in one pass. In each out the copy begins at
// byte `first`. `outs` must not overlap `source`.
void copy_into_all(const std::byte* source, std::span<std::byte* const> outs, size_t bytes,
                   size_t first = 0);

}  // namespace pace::kernels
