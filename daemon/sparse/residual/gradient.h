// gradient: makes the vector that is cut from an exchange's buffers, and makes the result from the
// chosen entries.
#pragma once

#include <cstddef>
#include <span>

#include "daemon/collectives/layout/local_part.h"
#include "daemon/kernels/pool.h"
#include "daemon/sparse/wire/entries.h"
#include "daemon/sparse/wire/packed.h"

namespace pace::sparse {

// gradient[i] = Σ weight · member[i] + residual[i] (Algorithm 1, line 1) for i in [begin, end), in
// one pass. f32 sums run as kernels/reduce.h says, with the members first. Other types are summed,
// rounded to their type and then added in f32. Before it is rounded, the sum is divided by
// room_for(members), a power of two, so that finite members have a finite sum. Blocks until done.
// The pool's threads help.
void gather_gradient(const collectives::LocalPart& part, const Packed& packed,
                     std::span<const float> residual, std::span<float> gradient, size_t begin,
                     size_t end, kernels::WorkerPool& pool);

double room_for(size_t members);

// out[i] = scale · (Σ weight · member[first + i] + residual[first + i]) for i below `count`, within
// one segment of type `dtype`. `out` and `residual` hold f32 floats. The sum is made as
// gather_gradient() makes it. Neither `out` nor `residual` needs to be aligned.
void add_residual(protocol::DType dtype, std::span<const kernels::Source> members, size_t first,
                  size_t count, const std::byte* residual, double scale, std::byte* out);

// Writes scale · value of every entry, rounded to its segment's type, to `result`. Writes zero
// everywhere else. `result` is laid out as packed.layout(). Blocks until done. The pool's threads
// help.
void scatter_result(const Entries& entries, double scale, const Packed& packed,
                    std::span<std::byte> result, kernels::WorkerPool& pool);

// data[index] = scale · value, rounded to the type as scatter_result() does.
void store_scaled(protocol::DType dtype, float value, double scale, std::byte* data, size_t index);

// is_zero() tells whether element `index` of `data` is zero. becomes_zero() tells whether
// scatter_result() turns `value` into zero. Subnormal numbers are not zero.
bool is_zero(protocol::DType dtype, const std::byte* data, size_t index);
bool becomes_zero(protocol::DType dtype, float value, double scale);

// Writes scale · sum, rounded to each segment's type, to `result`. `sum` is laid out as `layout`,
// which is packed.layout() with f32 in every segment. Blocks until done. The pool's threads help.
void convert_result(const collectives::Layout& layout, std::span<const std::byte> sum, double scale,
                    const Packed& packed, std::span<std::byte> result, kernels::WorkerPool& pool);

}  // namespace pace::sparse
