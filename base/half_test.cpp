#include "base/half.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace pace::base {
namespace {

// Computes the value of an f16 from the definition of the format, in double.
double value_of_f16(uint16_t bits) {
    const int exponent = (bits >> 10U) & 0x1F;
    const int fraction = bits & 0x3FF;
    const double sign = (bits & 0x8000U) != 0 ? -1 : 1;
    if (exponent == 31)
        return fraction == 0 ? sign * std::numeric_limits<double>::infinity() : std::nan("");
    if (exponent == 0) return sign * std::ldexp(fraction, -24);
    return sign * std::ldexp(1024 + fraction, exponent - 25);
}

TEST(Half, EveryF16IsReadAsItsDefinitionSays) {
    for (uint32_t bits = 0; bits < 65536; ++bits) {
        const double expected = value_of_f16(static_cast<uint16_t>(bits));
        const double actual = float_from_f16(static_cast<uint16_t>(bits));
        if (std::isnan(expected)) {
            ASSERT_TRUE(std::isnan(actual)) << bits;
        } else {
            ASSERT_EQ(actual, expected) << bits;
            ASSERT_EQ(std::signbit(actual), std::signbit(expected)) << bits;
        }
    }
}

TEST(Half, EveryPatternSurvivesTheWayToFloatAndBack) {
    for (uint32_t i = 0; i < 65536; ++i) {
        const auto bits = static_cast<uint16_t>(i);
        const bool f16_nan = std::isnan(float_from_f16(bits));
        const bool bf16_nan = std::isnan(float_from_bf16(bits));
        ASSERT_EQ(f16_from_float(float_from_f16(bits)), f16_nan ? 0x7E00 : bits);
        ASSERT_EQ(bf16_from_float(float_from_bf16(bits)), bf16_nan ? 0x7FC0 : bits);
    }
}

// Checks every pair of neighbours. A value a little below the middle rounds down. A value a little
// above the middle rounds up. The middle rounds to even.
template <typename ToFloat, typename FromFloat>
void expect_nearest_even(uint32_t infinity, double beyond, ToFloat to_float, FromFloat from_float) {
    for (uint32_t bits = 0; bits < infinity; ++bits) {
        const auto down = static_cast<uint16_t>(bits);
        const auto up = static_cast<uint16_t>(bits + 1);
        const double above = bits + 1 == infinity ? beyond : double{to_float(up)};
        const auto middle = static_cast<float>((double{to_float(down)} + above) / 2);
        const uint16_t even = bits % 2 == 0 ? down : up;
        ASSERT_EQ(from_float(middle), even) << bits;
        ASSERT_EQ(from_float(std::nextafter(middle, 0.0F)), down) << bits;
        ASSERT_EQ(from_float(std::nextafter(middle, INFINITY)), up) << bits;
        ASSERT_EQ(from_float(-middle), even | 0x8000U) << bits;
    }
}

TEST(Half, RoundsToNearestAndTiesToEven) {
    expect_nearest_even(0x7C00, 65536.0, float_from_f16, f16_from_float);
    expect_nearest_even(0x7F80, 0x1p128, float_from_bf16, bf16_from_float);
}

TEST(Half, NansBecomeTheQuietOneAndInfinitiesStay) {
    const float nan = std::bit_cast<float>(0xFF812345U);
    EXPECT_EQ(f16_from_float(nan), 0x7E00);
    EXPECT_EQ(bf16_from_float(nan), 0x7FC0);
    EXPECT_EQ(f16_from_float(-INFINITY), 0xFC00);
    EXPECT_EQ(bf16_from_float(-INFINITY), 0xFF80);
    EXPECT_EQ(f16_from_float(1e30F), 0x7C00);
}

}  // namespace
}  // namespace pace::base
