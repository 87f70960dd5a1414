// The element types by the book, in slow and simple code. The tests compare results with them.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "pace.h"

namespace pace::cluster {

struct NumberType {
    int32_t type;
    std::string_view name;
    size_t bytes;
    // The distance between 1 and the next number. Half of this distance is the largest relative
    // error of one rounding.
    double epsilon;
};

inline constexpr NumberType kNumberTypes[] = {
    {PACE_F32, "f32", 4, 0x1p-23},
    {PACE_F64, "f64", 8, 0x1p-52},
    {PACE_F16, "f16", 2, 0x1p-10},
    {PACE_BF16, "bf16", 2, 0x1p-7},
};

// IEEE 754: a sign, an exponent, and a fraction without its leading one.
inline double decode_bits(uint16_t bits, int exponent_bits, int fraction_bits) {
    const int bias = (1 << (exponent_bits - 1)) - 1;
    const int exponent = (bits >> fraction_bits) & ((1 << exponent_bits) - 1);
    const int fraction = bits & ((1 << fraction_bits) - 1);
    const double size = exponent == 0 ? std::ldexp(fraction, 1 - bias - fraction_bits)
                                      : std::ldexp(fraction + (1 << fraction_bits),
                                                   exponent - bias - fraction_bits);
    return (bits & 0x8000U) != 0 ? -size : size;
}

inline double decode(int32_t type, const void* element) {
    uint16_t half = 0;
    float single = 0;
    double value = 0;
    switch (type) {
        case PACE_F16:
            std::memcpy(&half, element, sizeof(half));
            return decode_bits(half, 5, 10);
        case PACE_BF16:
            std::memcpy(&half, element, sizeof(half));
            return decode_bits(half, 8, 7);
        case PACE_F32:
            std::memcpy(&single, element, sizeof(single));
            return single;
        default:
            std::memcpy(&value, element, sizeof(value));
            return value;
    }
}

// Writes some number between 1/4 and 4 in size, of either sign. The number is made of the bits of
// `random`.
inline void write_some_number(int32_t type, uint64_t random, void* element) {
    const double sign = (random & 1U) != 0 ? -1 : 1;
    const auto power = static_cast<int>((random >> 1U) % 4) - 2;
    const auto fraction = static_cast<uint16_t>(random >> 8U);
    const auto minus = static_cast<uint16_t>(sign < 0 ? 0x8000U : 0U);
    if (type == PACE_F16 || type == PACE_BF16) {
        const int fraction_bits = type == PACE_F16 ? 10 : 7;
        const int bias = type == PACE_F16 ? 15 : 127;
        const auto bits =
            static_cast<uint16_t>(minus | static_cast<unsigned>((power + bias) << fraction_bits) |
                                  (fraction & ((1U << static_cast<unsigned>(fraction_bits)) - 1U)));
        std::memcpy(element, &bits, sizeof(bits));
        return;
    }
    const double value = sign * std::ldexp(1 + static_cast<double>(random >> 12U) * 0x1p-52, power);
    if (type == PACE_F64) {
        std::memcpy(element, &value, sizeof(value));
        return;
    }
    const auto single = static_cast<float>(value);
    std::memcpy(element, &single, sizeof(single));
}

}  // namespace pace::cluster
