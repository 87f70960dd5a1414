// Slowness: which workers are reported as slow, and why.
#include "service/controller/core/members/slowness.h"

#include <gtest/gtest.h>

namespace pace::controller {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr TimePoint kNow{seconds(1000)};

// Four equal workers on four nodes.
std::vector<Pace> alike() {
    std::vector<Pace> paces(4);
    for (Rank rank = 0; rank < 4; ++rank) {
        paces[rank].rank = rank;
        paces[rank].activity = Activity::waiting;
        paces[rank].active = milliseconds(20);
        paces[rank].step = milliseconds(100);
        paces[rank].exchange = milliseconds(50);
        paces[rank].mebibyte = milliseconds(9);
    }
    return paces;
}

std::vector<std::optional<Slowness>> judged(const std::vector<Pace>& paces) {
    return SlowWorkers().judge(paces, kNow);
}

TEST(Slowness, IsNobodysWhereAllAreAlike) {
    for (const auto& slow : judged(alike())) EXPECT_FALSE(slow);
    auto paces = alike();
    paces[1].step = milliseconds(149);
    for (const auto& slow : judged(paces)) EXPECT_FALSE(slow);
    EXPECT_TRUE(judged({}).empty());
}

TEST(Slowness, OfAStoppedProcessIsNamedAtOnce) {
    auto paces = alike();
    paces[2].stopped = milliseconds(250);
    paces[1].active = seconds(30);  // it waits for rank 2
    const auto slow = judged(paces);
    ASSERT_TRUE(slow[2]);
    EXPECT_EQ(slow[2]->why, SlowWhy::stopped);
    EXPECT_EQ(slow[2]->since, milliseconds(250));
    EXPECT_DOUBLE_EQ(slow[2]->factor, 2.5);
    EXPECT_NE(slow[2]->text.find("250 ms"), std::string::npos) << slow[2]->text;
    EXPECT_FALSE(slow[1]) << "it is held up, and holds nobody up";
}

TEST(Slowness, OfComputingIsByHowMuchAndSinceWhen) {
    auto paces = alike();
    paces[3].step = milliseconds(500);
    SlowWorkers workers;
    workers.look(paces, kNow);
    workers.look(paces, kNow + seconds(1));
    const auto slow = workers.judge(paces, kNow + seconds(3));
    ASSERT_TRUE(slow[3]);
    EXPECT_EQ(slow[3]->why, SlowWhy::computing);
    EXPECT_DOUBLE_EQ(slow[3]->factor, 5);
    EXPECT_EQ(slow[3]->since, seconds(3));
    EXPECT_NE(slow[3]->text.find("500 ms"), std::string::npos) << slow[3]->text;
    // The worker is normal for a while, so that its next slowness starts later.
    workers.look(alike(), kNow + seconds(4));
    workers.look(paces, kNow + seconds(5));
    EXPECT_EQ(workers.judge(paces, kNow + seconds(6))[3]->since, seconds(1));
}

TEST(Slowness, OfAStepThatDoesNotEndIsSeenBeforeItHasEnded) {
    auto paces = alike();
    paces[0].activity = Activity::computing;
    paces[0].active = milliseconds(900);
    EXPECT_FALSE(judged(paces)[0]);
    paces[0].active = seconds(12);
    const auto slow = judged(paces);
    ASSERT_TRUE(slow[0]);
    EXPECT_EQ(slow[0]->why, SlowWhy::computing);
    EXPECT_DOUBLE_EQ(slow[0]->factor, 120);
    EXPECT_EQ(slow[0]->since, seconds(12));
}

TEST(Slowness, OfALinkNeedsExchangesThatTakeTime) {
    auto paces = alike();
    paces[1].mebibyte = milliseconds(90);
    const auto slow = judged(paces);
    ASSERT_TRUE(slow[1]);
    EXPECT_EQ(slow[1]->why, SlowWhy::link);
    EXPECT_DOUBLE_EQ(slow[1]->factor, 10);
    for (Pace& pace : paces) pace.exchange = milliseconds(1);
    EXPECT_FALSE(judged(paces)[1]);
}

TEST(Slowness, OfANodeThatIsNotHeardIsItsLinks) {
    auto paces = alike();
    paces[1].silent = milliseconds(800);
    const auto slow = judged(paces);
    ASSERT_TRUE(slow[1]);
    EXPECT_EQ(slow[1]->why, SlowWhy::link);
    EXPECT_EQ(slow[1]->since, milliseconds(800));
}

TEST(Slowness, WaitingIsToldWhereNobodyElseIsSlow) {
    auto paces = alike();
    paces[0].active = seconds(5);
    const auto slow = judged(paces);
    ASSERT_TRUE(slow[0]);
    EXPECT_EQ(slow[0]->why, SlowWhy::waiting);
    EXPECT_EQ(slow[0]->since, seconds(5));
    EXPECT_FALSE(slow[1]);
}

}  // namespace
}  // namespace pace::controller
