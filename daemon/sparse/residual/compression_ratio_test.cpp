#include "daemon/sparse/residual/compression_ratio.h"

#include <gtest/gtest.h>

namespace pace::sparse {
namespace {

TEST(CompressionRatio, BeginsAtTheLowerBoundWithAHundredthOfTheRange) {
    // k/P = 1000, d = 4, L = 4000.
    const CompressionRatio ratio(4000, 4);
    EXPECT_EQ(ratio.h(), 1000U);
    EXPECT_EQ(ratio.step(), 30.0);  // 0.01 · k(d - 1)/P
}

TEST(CompressionRatio, DoublesAtEverySecondAgreementAndTurnsRoundByHalf) {
    CompressionRatio ratio(4000, 4);
    ratio.adjust(1000);  // too few, and the step goes up: the first agreement
    EXPECT_EQ(ratio.step(), 30.0);
    EXPECT_EQ(ratio.h(), 1030U);
    ratio.adjust(1100);  // the second agreement
    EXPECT_EQ(ratio.step(), 60.0);
    EXPECT_EQ(ratio.h(), 1090U);
    ratio.adjust(4000);  // exactly L is not too many
    EXPECT_EQ(ratio.step(), 60.0);
    ratio.adjust(4001);
    EXPECT_EQ(ratio.step(), -30.0);
    EXPECT_EQ(ratio.h(), 1120U);
    ratio.adjust(4001);
    EXPECT_EQ(ratio.step(), -30.0);
    ratio.adjust(4001);
    EXPECT_EQ(ratio.step(), -60.0);
    ratio.adjust(3000);
    EXPECT_EQ(ratio.step(), 30.0);
}

TEST(CompressionRatio, StaysInItsBoundsAndNeverStops) {
    CompressionRatio ratio(4000, 4);
    for (int i = 0; i < 5000; ++i) ratio.adjust(1);
    EXPECT_EQ(ratio.h(), 4000U);
    for (int i = 0; i < 100; ++i) ratio.adjust(9000);
    EXPECT_EQ(ratio.h(), 1000U);
    for (int i = 0; i < 100; ++i) ratio.adjust(i % 2 == 0 ? 1 : 9000);
    EXPECT_EQ(std::abs(ratio.step()), 1.0);
    for (const size_t L : {0U, 1U, 2U})
        for (const size_t teams : {1U, 2U, 7U}) {
            CompressionRatio little(L, teams);
            for (size_t i = 0; i < 20; ++i) {
                EXPECT_LE(little.h(), L);
                EXPECT_EQ(little.h() > 0, L > 0);
                little.adjust(i % 3);
            }
        }
}

TEST(CompressionRatio, FindsTheHThatLeavesL) {
    // Workers' choices overlap by half: N = h · (1 + (d - 1)/2).
    CompressionRatio ratio(4000, 4);
    for (int i = 0; i < 60; ++i)
        ratio.adjust(static_cast<size_t>(2.5 * static_cast<double>(ratio.h())));
    EXPECT_NEAR(static_cast<double>(ratio.h()), 1600, 50);
}

}  // namespace
}  // namespace pace::sparse
