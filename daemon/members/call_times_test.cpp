#include "daemon/members/call_times.h"

#include <gtest/gtest.h>

namespace pace::daemon {
namespace {

using std::chrono::milliseconds;
using Activity = CallTimes::Activity;

constexpr base::TimePoint kStart{std::chrono::seconds(100)};

base::TimePoint at(int ms) {
    return kStart + milliseconds(ms);
}

TEST(CallTimes, AWorkerComputesWaitsAndExchanges) {
    CallTimes times(kStart);
    EXPECT_EQ(times.activity(), Activity::computing);
    times.call(1, at(30));
    EXPECT_EQ(times.activity(), Activity::waiting);
    EXPECT_EQ(times.since(), at(30));
    times.begin_exchange(at(50));
    EXPECT_EQ(times.activity(), Activity::exchanging);
    EXPECT_EQ(times.waited(), base::Duration{}) << "the call has not ended";
    times.end(at(57));
    EXPECT_EQ(times.activity(), Activity::computing);
    EXPECT_EQ(times.waited(), milliseconds(20));
    EXPECT_EQ(times.exchanged(), milliseconds(7));
    EXPECT_EQ(times.times_called(), 1U);
    EXPECT_EQ(times.steps(), 1U);
}

TEST(CallTimes, WhatItsExchangeWaitsForOtherNodesIsAWait) {
    CallTimes times(kStart);
    times.call(1, at(0));
    times.begin_exchange(at(0));
    times.met(at(40));
    times.end(at(45));
    EXPECT_EQ(times.waited(), milliseconds(40));
    EXPECT_EQ(times.exchanged(), milliseconds(5));
    // Nodes that were met before the exchange began change nothing.
    times.call(2, at(50));
    times.begin_exchange(at(60));
    times.met(at(55));
    times.end(at(61));
    EXPECT_EQ(times.waited(), milliseconds(50));
    EXPECT_EQ(times.exchanged(), milliseconds(6));
}

TEST(CallTimes, AnExchangeThatIsBegunAnewHasExchangedTwice) {
    CallTimes times(kStart);
    times.call(1, at(0));
    times.begin_exchange(at(10));
    times.wait_again(at(15));
    times.begin_exchange(at(35));
    times.end(at(40));
    EXPECT_EQ(times.waited(), milliseconds(30));
    EXPECT_EQ(times.exchanged(), milliseconds(10));
    EXPECT_EQ(times.times_called(), 1U);
}

TEST(CallTimes, CallsOfOneIterationAreOneStep) {
    CallTimes times(kStart);
    for (const uint64_t iteration : {5U, 5U, 5U, 6U, 6U, 7U}) {
        times.call(iteration, at(0));
        times.end(at(1));
    }
    EXPECT_EQ(times.steps(), 3U);
    EXPECT_EQ(times.times_called(), 6U);
    // A worker that names no iteration makes a step with each call.
    for (int call = 0; call < 4; ++call) times.call(0, at(2));
    EXPECT_EQ(times.steps(), 7U);
}

TEST(CallTimes, CallsBehindEachOtherLeaveNoGap) {
    CallTimes times(kStart);
    times.call(1, at(0));
    times.begin_exchange(at(2));
    times.call(2, at(3));
    times.go_on(at(10));
    times.begin_exchange(at(11));
    times.end(at(15));
    EXPECT_EQ(times.waited(), milliseconds(3));
    EXPECT_EQ(times.exchanged(), milliseconds(12));
    times.end(at(20));
    EXPECT_EQ(times.times_called(), 1U);
}

TEST(CallTimes, AMomentOfBeforeTheCallIsTheCall) {
    CallTimes times(kStart);
    times.call(1, at(10));
    times.begin_exchange(at(4));
    times.end(at(12));
    EXPECT_EQ(times.waited(), base::Duration{});
    EXPECT_EQ(times.exchanged(), milliseconds(2));
}

}  // namespace
}  // namespace pace::daemon
