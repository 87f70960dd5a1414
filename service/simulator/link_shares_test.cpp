#include "service/simulator/link_shares.h"

#include <gtest/gtest.h>

namespace pace::simulator {
namespace {

constexpr Link kLinks[] = {{100}, {100}, {10}};

TimePoint second(int n) {
    return TimePoint(std::chrono::seconds(n));
}

ExchangeCost over(std::vector<LinkUse> links, double bytes) {
    return {0, bytes, std::move(links)};
}

TEST(LinkShares, AnExchangeIsAsFastAsItsSlowestLink) {
    LinkShares shares(kLinks);
    EXPECT_FALSE(shares.next_end());
    shares.begin(0, over({{0, 1}, {2, 1}}, 100), second(1));
    EXPECT_EQ(shares.next_end(), second(11));
    EXPECT_EQ(shares.end_next(), 0U);
    EXPECT_FALSE(shares.next_end());
}

// The first has the link for itself for 5 s; then each has half of it. When the first has ended, the
// second has all.
TEST(LinkShares, ThoseWhoShareALinkGetEqualShares) {
    LinkShares shares(kLinks);
    shares.begin(0, over({{0, 1}, {1, 1}}, 1000), second(0));
    shares.begin(1, over({{0, 1}}, 1000), second(5));
    EXPECT_EQ(shares.next_end(), second(15));
    EXPECT_EQ(shares.end_next(), 0U);
    EXPECT_EQ(shares.next_end(), second(20));
    EXPECT_EQ(shares.end_next(), 1U);
}

TEST(LinkShares, OthersLinksDoNotMatter) {
    LinkShares shares(kLinks);
    shares.begin(0, over({{0, 1}}, 1000), second(0));
    shares.begin(1, over({{1, 1}}, 500), second(0));
    EXPECT_EQ(shares.next_end(), second(5));
    EXPECT_EQ(shares.end_next(), 1U);
    EXPECT_EQ(shares.next_end(), second(10));
}

TEST(LinkShares, NodesThatSendOverOneLinkShareItToo) {
    LinkShares shares(kLinks);
    shares.begin(0, over({{0, 2}}, 100), second(0));
    EXPECT_EQ(shares.next_end(), second(2));
}

}  // namespace
}  // namespace pace::simulator
