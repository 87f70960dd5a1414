#include "service/simulator/timing/shares.h"

#include <gtest/gtest.h>

namespace pace::simulator {
namespace {

constexpr Channel kChannels[] = {{100}, {100}, {10}};

TimePoint second(int n) {
    return TimePoint(std::chrono::seconds(n));
}

Stage over(std::vector<Use> uses, double bytes) {
    return {bytes, std::move(uses)};
}

TEST(Shares, AnExchangeIsAsFastAsItsSlowestChannel) {
    Shares shares(kChannels);
    EXPECT_FALSE(shares.next_end());
    shares.begin(0, over({{0, 1}, {2, 1}}, 100), second(1));
    EXPECT_EQ(shares.next_end(), second(11));
    EXPECT_EQ(shares.end_next(), 0U);
    EXPECT_FALSE(shares.next_end());
}

// The first exchange has the channel alone for 5 s. Then each exchange has half of it. When the
// first has ended, the second has all of it.
TEST(Shares, ThoseWhoShareAChannelGetEqualShares) {
    Shares shares(kChannels);
    shares.begin(0, over({{0, 1}, {1, 1}}, 1000), second(0));
    shares.begin(1, over({{0, 1}}, 1000), second(5));
    EXPECT_EQ(shares.next_end(), second(15));
    EXPECT_EQ(shares.end_next(), 0U);
    EXPECT_EQ(shares.next_end(), second(20));
    EXPECT_EQ(shares.end_next(), 1U);
}

TEST(Shares, OthersChannelsDoNotMatter) {
    Shares shares(kChannels);
    shares.begin(0, over({{0, 1}}, 1000), second(0));
    shares.begin(1, over({{1, 1}}, 500), second(0));
    EXPECT_EQ(shares.next_end(), second(5));
    EXPECT_EQ(shares.end_next(), 1U);
    EXPECT_EQ(shares.next_end(), second(10));
}

TEST(Shares, StreamsOfOneExchangeShareAChannelToo) {
    Shares shares(kChannels);
    shares.begin(0, over({{0, 2}}, 100), second(0));
    EXPECT_EQ(shares.next_end(), second(2));
}

}  // namespace
}  // namespace pace::simulator
