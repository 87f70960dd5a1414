#include "service/controller/policies/group_wait.h"

#include <gtest/gtest.h>

namespace pace::controller {
namespace {

using std::chrono::milliseconds;

TEST(GroupWait, StartsWithASecondAndIsNeverMoreThanTenMedianSteps) {
    GroupWait wait(3, {});
    EXPECT_EQ(wait.wait(), std::chrono::seconds(1));
    TimePoint now{};
    for (int i = 0; i < 50; ++i) {
        now += milliseconds(i % 2 == 0 ? 1 : 500);
        wait.on_arrival(now);
        wait.on_step(milliseconds(4));
    }
    EXPECT_EQ(wait.median_step(), milliseconds(4));
    EXPECT_EQ(wait.wait(), milliseconds(40));
}

TEST(GroupWait, IsAtMostTenMedianStepsAsSoonAsOneIsKnown) {
    GroupWait wait(3, {});
    wait.on_arrival(TimePoint{});
    wait.on_step(milliseconds(4));
    EXPECT_EQ(wait.wait(), milliseconds(40));
}

TEST(GroupWait, FollowsTheUsualGapBetweenArrivals) {
    GroupWait wait(4, {});
    TimePoint now{};
    for (int i = 0; i < 100; ++i) {
        now += milliseconds(2);
        wait.on_arrival(now);
        wait.on_step(milliseconds(20));
    }
    EXPECT_EQ(wait.wait(), milliseconds(10));  // half a step
    for (int i = 0; i < 100; ++i) {
        now += milliseconds(4);
        wait.on_arrival(now);
    }
    EXPECT_GE(wait.wait(), milliseconds(16));
    EXPECT_LE(wait.wait(), milliseconds(17));
}

TEST(GroupWait, DoesNotFeedOnItsOwnWaits) {
    GroupWait wait(3, {});
    TimePoint now{};
    // Two workers take steps of 10 ms; the group of three never fills, and closes after the wait.
    for (int i = 0; i < 200; ++i) {
        now += milliseconds(10);
        wait.on_arrival(now);
        wait.on_arrival(now);
        wait.on_step(milliseconds(10));
        now += wait.wait();
        wait.on_group(now);
    }
    EXPECT_LE(wait.wait(), milliseconds(60));
}

TEST(GroupWait, ObeysAFixedWait) {
    GroupWait wait(3, milliseconds(7));
    EXPECT_EQ(wait.wait(), milliseconds(7));
}

TEST(GroupWait, CallsAWorkerFrozenAfterTenStepsAndASecond) {
    GroupWait wait(3, {});
    wait.on_step(milliseconds(10));
    EXPECT_EQ(wait.frozen_after(), std::chrono::seconds(1));
    for (int i = 0; i < 300; ++i) wait.on_step(milliseconds(300));
    EXPECT_EQ(wait.frozen_after(), std::chrono::seconds(3));
}

}  // namespace
}  // namespace pace::controller
