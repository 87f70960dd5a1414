// gradient: from an exchange's buffers to the vector that is cut, and from the chosen entries to
// the result.
#pragma once

#include <cstddef>
#include <span>

#include "daemon/collectives/local_part.h"
#include "daemon/kernels/pool.h"
#include "daemon/sparse/entries.h"
#include "daemon/sparse/packed.h"

namespace pace::sparse {

// gradient[i] = Σ weight · member[i] + residual[i] (Algorithm 1, line 1) for i in [begin, end), in one
// pass. f32 sums run as kernels/reduce.h says, members first; other types are summed and rounded to
// their type, then added in f32. Rounded is the sum divided by room_for(members), a power of two, so that
// finite members have a finite sum. Blocks until done; the pool's threads help.
void gather_gradient(const collectives::LocalPart& part, const Packed& packed,
                     std::span<const float> residual, std::span<float> gradient, size_t begin,
                     size_t end, kernels::WorkerPool& pool);

double room_for(size_t members);

// out[i] = scale · (Σ weight · member[first + i] + residual[first + i]) for i below `count`, of one
// segment of type `dtype`: f32 floats, summed as above. Neither memory need be aligned.
void add_residual(protocol::DType dtype, std::span<const kernels::Source> members, size_t first,
                  size_t count, const std::byte* residual, double scale, std::byte* out);

// Writes scale · value of every entry, rounded to its segment's type, and zero everywhere else, to
// `result`, which is laid out as packed.layout(). Same.
void scatter_result(const Entries& entries, double scale, const Packed& packed,
                    std::span<std::byte> result, kernels::WorkerPool& pool);

// data[index] = scale · value, rounded to the type, as scatter_result() does.
void store_scaled(protocol::DType dtype, float value, double scale, std::byte* data, size_t index);

// Whether element `index` of `data` is zero, and whether scatter_result() makes a zero of `value`.
// Subnormal numbers are not.
bool is_zero(protocol::DType dtype, const std::byte* data, size_t index);
bool becomes_zero(protocol::DType dtype, float value, double scale);

// Writes scale · sum, rounded likewise, to `result`. `sum` lies as `layout`, which is
// packed.layout() with f32 in every segment. Same.
void convert_result(const collectives::Layout& layout, std::span<const std::byte> sum, double scale,
                    const Packed& packed, std::span<std::byte> result, kernels::WorkerPool& pool);

}  // namespace pace::sparse
