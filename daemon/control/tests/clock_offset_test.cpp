#include "daemon/control/clock_offset.h"

#include <gtest/gtest.h>

namespace pace::daemon {
namespace {

TEST(ClockOffset, IsTheMiddleOfTheQuickestAnswer) {
    ClockOffset clock;
    EXPECT_FALSE(clock.best());
    clock.said(1, 1000);
    clock.answered(1, 501'500, 2000);  // 500,000 ahead, within 500
    clock.said(2, 3000);
    clock.answered(2, 503'040, 3100);  // 499,990, within 50
    clock.said(3, 4000);
    clock.answered(3, 509'000, 9000);
    ASSERT_TRUE(clock.best());
    EXPECT_EQ(clock.best()->offset_ns, 499'990);
    EXPECT_EQ(clock.best()->error_ns, 50U);
}

TEST(ClockOffset, MayBeBehind) {
    ClockOffset clock;
    clock.said(1, 1'000'000);
    clock.answered(1, 10, 1'000'020);
    EXPECT_EQ(clock.best()->offset_ns, -1'000'000);
}

TEST(ClockOffset, WhatAnswersNothingOrTellsNoTimeDoesNotCount) {
    ClockOffset clock;
    clock.answered(0, 5, 7);
    clock.said(1, 10);
    clock.answered(2, 5, 20);
    clock.answered(1, 0, 20);
    EXPECT_FALSE(clock.best());
    clock.answered(1, 15, 20);
    clock.answered(1, 99, 21);  // twice
    EXPECT_EQ(clock.best()->offset_ns, 0);
    clock.forget();
    EXPECT_FALSE(clock.best());
}

// A clock drifts, so a fast answer of long ago must not stay the best one for ever.
TEST(ClockOffset, ForgetsWhatWasLongAgo) {
    ClockOffset clock;
    clock.said(1, 0);
    clock.answered(1, 1, 0);
    for (uint64_t number = 2; number < 40; ++number) {
        clock.said(number, number * 1000);
        clock.answered(number, number * 1000 + 75, number * 1000 + 50);
    }
    EXPECT_EQ(clock.best()->offset_ns, 50);
}

}  // namespace
}  // namespace pace::daemon
