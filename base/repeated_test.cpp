#include "base/repeated.h"

#include <gtest/gtest.h>

namespace pace::base {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

TEST(Repeated, IsSaidAtOnceAndThenAtGrowingIntervals) {
    Repeated repeated;
    const TimePoint begin{seconds(100'000)};
    std::vector<Duration> said;
    for (Duration passed{}; passed < minutes(40); passed += seconds(1))
        if (repeated.is_due("x", begin + passed) != 0) said.push_back(passed);
    ASSERT_GE(said.size(), 5U);
    EXPECT_EQ(said[0], seconds(0));
    EXPECT_EQ(said[1], seconds(10));
    EXPECT_EQ(said[2], seconds(30));
    EXPECT_EQ(said[3], seconds(70));
    EXPECT_EQ(said.back() - said[said.size() - 2], minutes(10));
}

TEST(Repeated, CountsWhatWasNotSaid) {
    Repeated repeated;
    const TimePoint now{seconds(100'000)};
    EXPECT_EQ(repeated.is_due("x", now), 1U);
    for (int i = 0; i < 5; ++i) EXPECT_EQ(repeated.is_due("x", now + seconds(1)), 0U);
    EXPECT_EQ(repeated.is_due("y", now + seconds(1)), 1U);
    EXPECT_EQ(repeated.is_due("x", now + seconds(10)), 6U);
    // A thing that holds again long after is new.
    EXPECT_EQ(repeated.is_due("x", now + minutes(60)), 1U);
    EXPECT_EQ(repeated.is_due("x", now + minutes(60) + seconds(10)), 1U);
}

TEST(Repeated, SaysLittleHoweverManyThingsThereAre) {
    Repeated repeated;
    const TimePoint now{seconds(100'000)};
    size_t said = 0;
    for (int i = 0; i < 10'000; ++i)
        if (repeated.is_due(std::to_string(i), now) != 0) ++said;
    EXPECT_LE(said, Repeated::kThingsMax + 1);
}

}  // namespace
}  // namespace pace::base
