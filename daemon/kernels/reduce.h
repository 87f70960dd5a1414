// reduce: weighted sums of buffers, the arithmetic of every dense exchange.
//
//     out[i] = round(scale · Σ_k weight_k · x_k[i])
//
// Half types and f32 accumulate in f32, f64 in f64; the sum is rounded to the element type once, at
// the end.
//
// The result is the same, bit for bit, on every machine and however a range is cut into pieces:
//  * the sum runs strictly in the order of the sources, starting with the first product, not zero;
//  * a product is rounded before it is added. A fused multiply-add would be as exact and as fast,
//    since memory is the limit, but processors without it would have to emulate it slowly;
//  * weights and scale are rounded once to the accumulator's type; a weight or scale of exactly 1
//    costs no multiplication and changes no bit;
//  * a mean does not overflow because a sum before it does: where the scale is below 1, a power of two
//    moves from it to the weights first (headroom.h), which changes no bit of a normal number;
//  * rounding to f16 and bf16 is to nearest, ties to even, subnormals included; what is too large
//    becomes infinite;
//  * a result that is not a number is always the positive quiet NaN without payload: processors
//    differ in which operand's payload they keep.
// The calling thread must have the default floating-point environment (no flush to zero);
// WorkerPool's have.
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

// Writes elements [first, first + count) of the weighted sum to out[0 .. count). Without sources it
// is zero. `out` may be exactly the memory that it reads of a source; partial overlap is not
// allowed. Any thread; does not block or allocate.
void weighted_sum(protocol::DType dtype, std::span<const Source> sources, double scale,
                  std::byte* out, size_t count, size_t first = 0);

// Writes elements [first, first + count) of the sum to the same elements of every one of `outs`, in
// one pass over memory. `outs` are normally the sources themselves (an all-reduce in place among
// the members of a node), and may be other memory. Same rules.
void weighted_sum_into_all(protocol::DType dtype, std::span<const Source> sources, double scale,
                           std::span<std::byte* const> outs, size_t count, size_t first = 0);

// Copies `bytes` bytes of `source` to every one of `outs`, from byte `first` of them on, in one
// pass; `outs` must not overlap `source`.
void copy_into_all(const std::byte* source, std::span<std::byte* const> outs, size_t bytes,
                   size_t first = 0);

}  // namespace pace::kernels
