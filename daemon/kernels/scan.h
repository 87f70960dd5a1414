// scan: which elements of a vector have at least some magnitude; the inner loop of selection, at
// the speed of memory.
//
// Magnitudes are compared as integers: the bits of |x| of two floats are ordered as the floats are.
// All NaNs count as one magnitude above infinity, so that a broken gradient is chosen first and
// shows itself at every worker, instead of hiding in a residual for ever.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace pace::kernels {

inline constexpr uint32_t kNanKey = 0x7F800001U;  // one more than the bits of infinity

// 0 for both zeros, kNanKey for NaN.
inline uint32_t magnitude_key(float value) {
    return std::min(std::bit_cast<uint32_t>(value) & 0x7FFFFFFFU, kNanKey);
}

// How far beyond the last result its output may be overwritten, in elements.
inline constexpr size_t kScanSlack = 64;

// Writes the indices, counted from `first_index`, and the values of those of values[0 .. count)
// whose key is at least `key_min` (from 1 to kNanKey), in order, and returns how many they are. The
// outputs have room for count + kScanSlack. Any thread; does not block or allocate.
size_t scan_at_least(const float* values, size_t count, uint32_t first_index, uint32_t key_min,
                     uint32_t* ret_indices, float* ret_values);

}  // namespace pace::kernels
