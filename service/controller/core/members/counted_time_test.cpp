#include "service/controller/core/members/counted_time.h"

#include <gtest/gtest.h>

namespace pace::controller {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

// A worker computes for `step` and exchanges for a tenth of that, repeatedly for a minute. Its
// daemon counts at the end of each step, and reports with every heartbeat.
base::Duration shown(microseconds step, microseconds heartbeat) {
    CountedTime time;
    const microseconds cycle = step + step / 10;
    for (microseconds now = heartbeat / 3; now < std::chrono::minutes(1); now += heartbeat) {
        const auto steps = static_cast<uint64_t>((now + step / 10) / cycle);
        time.tell(steps, steps * static_cast<uint64_t>(step.count()));
    }
    return time.median();
}

TEST(CountedTime, IsThatOfAStepWheneverHeartbeatsCome) {
    for (const int step_ms : {1, 7, 30, 100, 250, 999, 1000, 2700})
        for (const int heartbeat_ms : {10, 100, 200, 1000, 5000})
            EXPECT_EQ(shown(milliseconds(step_ms), milliseconds(heartbeat_ms)),
                      milliseconds(step_ms))
                << step_ms << " ms, heartbeats of " << heartbeat_ms << " ms";
}

TEST(CountedTime, WhatLiesBeforeTheFirstReadingIsInTheTotalAlone) {
    CountedTime time;
    EXPECT_FALSE(time.tell(0, 0));
    EXPECT_FALSE(time.is_told());
    EXPECT_FALSE(time.tell(1, 60'000'000));
    EXPECT_EQ(time.median(), base::Duration{});
    EXPECT_EQ(time.tell(3, 60'020'000), milliseconds(10));
    EXPECT_DOUBLE_EQ(time.total_s(), 60.02);
}

TEST(CountedTime, OfADaemonThatWasRestartedBeginsAnew) {
    CountedTime time;
    time.tell(100, 1'000'000);
    EXPECT_EQ(time.tell(2, 40'000), milliseconds(20));
    EXPECT_DOUBLE_EQ(time.total_s(), 1.04);
}

TEST(CountedTime, NonsenseIsBounded) {
    CountedTime time;
    time.tell(1, 1);
    EXPECT_TRUE(time.tell(~uint64_t{0}, ~uint64_t{0}));
    EXPECT_GE(time.median().count(), 0);
    EXPECT_FALSE(time.tell(~uint64_t{0}, 5));
}

}  // namespace
}  // namespace pace::controller
