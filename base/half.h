// half: converts f16 (IEEE binary16) and bf16 to float and back, one element at a time. Rounding is
// to nearest, ties to even. Subnormals are kept. Every NaN becomes the positive quiet NaN without
// payload. The vector code in reduce.cpp does the same with the same constants. Tests compare the
// two over all 65536 patterns.
//
// After F. Giesen, "float->half variants" (public domain).
#pragma once

#include <bit>
#include <cstdint>

namespace pace::base {

inline constexpr uint32_t kQuietNan = 0x7FC00000U;       // bits of a float's quiet NaN
inline constexpr uint32_t kFloatInfinity = 0x7F800000U;  // bits of +infinity
inline constexpr uint32_t kHalfOverflow = 0x47800000U;   // 2^16: f16 is infinite from here on
inline constexpr uint32_t kHalfNormalMin = 0x38800000U;  // 2^-14: the smallest normal f16
// (15 - 127) << 23, plus just under half a unit.
inline constexpr uint32_t kHalfRoundingBias = 0xC8000FFFU;
// 1/2: its last place is f16's smallest subnormal.
inline constexpr uint32_t kHalfDenormalMagic = 0x3F000000U;

inline float float_from_bf16(uint16_t bits) {
    return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16U);
}

inline uint16_t bf16_from_float(float value) {
    uint32_t bits = value == value ? std::bit_cast<uint32_t>(value) : kQuietNan;
    bits += 0x7FFFU + ((bits >> 16U) & 1U);
    return static_cast<uint16_t>(bits >> 16U);
}

inline float float_from_f16(uint16_t bits) {
    const uint32_t sign = (bits & 0x8000U) << 16U;
    const uint32_t magnitude = (bits & 0x7FFFU) << 13U;
    uint32_t result = magnitude + (112U << 23U);
    if (magnitude >= (0x7C00U << 13U)) {
        result += 112U << 23U;
    } else if (magnitude < (0x0400U << 13U)) {
        // A subnormal: give the number the exponent of 2^-14, then subtract the leading one, which
        // a subnormal does not have.
        result += 1U << 23U;
        result = std::bit_cast<uint32_t>(std::bit_cast<float>(result) -
                                         std::bit_cast<float>(kHalfNormalMin));
    }
    return std::bit_cast<float>(result | sign);
}

inline uint16_t f16_from_float(float value) {
    if (value != value) return 0x7E00U;
    const uint32_t bits = std::bit_cast<uint32_t>(value);
    const uint32_t sign = (bits & 0x80000000U) >> 16U;
    uint32_t magnitude = bits & 0x7FFFFFFFU;
    if (magnitude >= kHalfOverflow) {
        magnitude = 0x7C00U;
    } else if (magnitude < kHalfNormalMin) {
        // Adding 1/2 makes the processor round at f16's smallest subnormal.
        const float shifted =
            std::bit_cast<float>(magnitude) + std::bit_cast<float>(kHalfDenormalMagic);
        magnitude = std::bit_cast<uint32_t>(shifted) - kHalfDenormalMagic;
    } else {
        magnitude = (magnitude + kHalfRoundingBias + ((magnitude >> 13U) & 1U)) >> 13U;
    }
    return static_cast<uint16_t>(magnitude | sign);
}

}  // namespace pace::base
