#include <pace/element.hpp>

#include <cmath>
#include <cstdint>
#include <limits>

#include <gtest/gtest.h>

namespace pace_cpp {
namespace {

// Returns the value that the standard gives to the bits.
double meaning_of_half(std::uint32_t bits) {
    const double sign = (bits & 0x8000U) != 0 ? -1 : 1;
    const int exponent = static_cast<int>(bits >> 10U & 0x1FU);
    const double mantissa = bits & 0x3FFU;
    if (exponent == 0) return sign * std::ldexp(mantissa, -24);
    return sign * std::ldexp(1024 + mantissa, exponent - 25);
}

bool is_number(std::uint32_t half) {
    return (half & 0x7C00U) != 0x7C00U;
}

TEST(ElementTest, EveryHalfIsTheNumberOfTheStandard) {
    for (std::uint32_t bits = 0; bits < 0x10000U; ++bits) {
        const auto half = pace::f16::from_bits(static_cast<std::uint16_t>(bits));
        const auto number = static_cast<float>(half);
        if (is_number(bits))
            ASSERT_EQ(static_cast<double>(number), meaning_of_half(bits)) << bits;
        else if ((bits & 0x3FFU) == 0)
            ASSERT_TRUE(std::isinf(number)) << bits;
        else
            ASSERT_TRUE(std::isnan(number)) << bits;
        if (std::isnan(number))
            ASSERT_TRUE(std::isnan(static_cast<float>(pace::f16(number)))) << bits;
        else
            ASSERT_EQ(pace::f16(number).bits, bits);
    }
}

TEST(ElementTest, BetweenTwoHalvesTheNearerIsTakenAndTheEvenOfTwo) {
    for (std::uint32_t bits = 0; bits < 0x7BFFU; ++bits) {
        const auto low = static_cast<float>(meaning_of_half(bits));
        const auto high = static_cast<float>(meaning_of_half(bits + 1));
        const float middle = low + (high - low) / 2;
        const std::uint32_t even = (bits & 1U) == 0 ? bits : bits + 1;
        ASSERT_EQ(pace::f16(middle).bits, even) << bits;
        ASSERT_EQ(pace::f16(std::nextafter(middle, low)).bits, bits);
        ASSERT_EQ(pace::f16(std::nextafter(middle, high)).bits, bits + 1);
    }
}

TEST(ElementTest, WhatIsTooGreatForAHalfIsInfinite) {
    EXPECT_EQ(pace::f16(65519.0F).bits, 0x7BFFU);
    EXPECT_EQ(pace::f16(65520.0F).bits, 0x7C00U);
    EXPECT_EQ(pace::f16(-1e30F).bits, 0xFC00U);
    EXPECT_EQ(pace::f16(0x1p-25F).bits, 0U);
    EXPECT_EQ(pace::f16(-0x1p-26F).bits, 0x8000U);
}

TEST(ElementTest, BrainFloatsAreTheUpperHalfOfFloats) {
    EXPECT_EQ(pace::bf16(1.0F).bits, 0x3F80U);
    EXPECT_EQ(static_cast<float>(pace::bf16(-2.5F)), -2.5F);
    EXPECT_EQ(pace::bf16(1.00390625F).bits, 0x3F80U);  // 1 + 2^-8 is a tie and rounds to even
    EXPECT_EQ(pace::bf16(1.01171875F).bits, 0x3F82U);  // 1 + 3 * 2^-8 is a tie, too
    EXPECT_TRUE(std::isinf(static_cast<float>(pace::bf16(std::numeric_limits<float>::max()))));
    EXPECT_TRUE(
        std::isnan(static_cast<float>(pace::bf16(std::numeric_limits<float>::quiet_NaN()))));
}

}  // namespace
}  // namespace pace_cpp
