// rounding: rounds values to the form in which they travel. What rounding takes away is not lost:
// it stays in the residual of the worker that rounded.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "base/half.h"

namespace pace::sparse {

enum class ValueFormat : uint8_t { f32 = 1, f16 = 2, bf16 = 3 };

constexpr size_t value_bytes(ValueFormat format) {
    return format == ValueFormat::f32 ? 4 : 2;
}

constexpr uint16_t kHalfMax = 0x7BFFU;  // 65504
constexpr uint16_t kBf16Max = 0x7F7FU;

// A finite value that is too large becomes the greatest finite value, not infinity. The rest stays
// in the residual and travels with the next exchanges.
inline uint16_t half_bits(float value, ValueFormat format) {
    const bool is_f16 = format == ValueFormat::f16;
    const uint16_t bits = is_f16 ? base::f16_from_float(value) : base::bf16_from_float(value);
    const uint16_t infinity = is_f16 ? 0x7C00U : 0x7F80U;
    if ((bits & 0x7FFFU) != infinity || std::isinf(value)) return bits;
    return static_cast<uint16_t>((bits & 0x8000U) | (is_f16 ? kHalfMax : kBf16Max));
}

inline float float_of_half(uint16_t bits, ValueFormat format) {
    return format == ValueFormat::f16 ? base::float_from_f16(bits) : base::float_from_bf16(bits);
}

// The value that the receiver gets.
inline float rounded(float value, ValueFormat format) {
    return format == ValueFormat::f32 ? value : float_of_half(half_bits(value, format), format);
}

// What remains of `value` when `sent` is sent. Nothing remains of infinities and NaN, because they
// would stay in the residual forever.
inline float remainder_of(float value, float sent) {
    return std::isfinite(value) ? value - sent : 0.0F;
}

}  // namespace pace::sparse
