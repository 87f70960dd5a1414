// scan: finds the elements of a vector with at least some magnitude. It is the inner loop of
// selection, and runs at the speed of memory.
//
// Magnitudes are compared as integers, because the bits of |x| are ordered like the floats. All
// NaNs count as one magnitude above infinity. So a broken gradient is chosen first and seen by
// every worker, instead of staying hidden in a residual for ever.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace pace::kernels {

inline constexpr uint32_t kNanKey = 0x7F800001U;  // one more than the bits of infinity

// Returns 0 for both zeros, and kNanKey for NaN.
inline uint32_t magnitude_key(float value) {
    return std::min(std::bit_cast<uint32_t>(value) & 0x7FFFFFFFU, kNanKey);
}

// The number of elements beyond the last result that may be overwritten in the outputs.
inline constexpr size_t kScanSlack = 64;

// Looks for those of values[0 .. count) whose key is at least `key_min` (from 1 to kNanKey). Writes
// their indices and values in order, and returns their number. Indices count from `first_index`.
// The outputs must have room for count + kScanSlack. Any thread may call this function. It does not
// block or allocate.
size_t scan_at_least(const float* values, size_t count, uint32_t first_index, uint32_t key_min,
                     uint32_t* ret_indices, float* ret_values);

}  // namespace pace::kernels
