#include "service/controller/shell/awake_clock.h"

#include <gtest/gtest.h>

namespace pace::controller {
namespace {

using base::Duration;
using base::TimePoint;
using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(AwakeClock, IsTheMonotonicClockWhileTheProcessRuns) {
    TimePoint now{seconds(5)};
    AwakeClock clock(now);
    for (int i = 0; i < 100; ++i) {
        now += AwakeClock::kPulse + AwakeClock::kLate;
        EXPECT_EQ(clock.look(now), Duration::zero());
        EXPECT_EQ(clock.at(now), now);
    }
}

TEST(AwakeClock, DoesNotCountTheTimeInWhichTheProcessDidNotRun) {
    const TimePoint begin{seconds(5)};
    AwakeClock clock(begin);
    const TimePoint woken = begin + seconds(10);
    EXPECT_EQ(clock.look(woken), seconds(10) - AwakeClock::kPulse);
    EXPECT_EQ(clock.at(woken), begin + AwakeClock::kPulse);
    // From here the clock runs again.
    EXPECT_EQ(clock.look(woken + milliseconds(20)), Duration::zero());
    EXPECT_EQ(clock.at(woken + milliseconds(20)), begin + AwakeClock::kPulse + milliseconds(20));
    EXPECT_EQ(clock.until(clock.at(woken) + seconds(1), woken), seconds(1));
    EXPECT_EQ(clock.look(woken + seconds(3)), seconds(3) - milliseconds(20) - AwakeClock::kPulse);
}

}  // namespace
}  // namespace pace::controller
