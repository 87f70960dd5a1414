#include "service/simulator/timing/static_schedule.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "base/random.h"
#include "service/simulator/model/scenario_fixture.h"

namespace pace::simulator {
namespace {

using Ranks = std::vector<controller::Rank>;

TEST(StaticSchedule, AGroupIsCompleteWithTheLastOfItsMembers) {
    StaticSchedule schedule(even_cluster(2, 2));
    // The first workers of the nodes meet. The others are left out.
    EXPECT_EQ(schedule.call(1), Ranks{1});
    EXPECT_TRUE(schedule.call(0).empty());
    EXPECT_TRUE(schedule.call(1).empty()) << "0 has not called for this turn";
    EXPECT_EQ(schedule.call(2), (Ranks{0, 2}));
    EXPECT_EQ(schedule.call(0), (Ranks{0, 1}));
    // The second workers meet while the other node's first worker is a turn behind.
    EXPECT_TRUE(schedule.call(1).empty());
    EXPECT_EQ(schedule.call(0), Ranks{0});
    EXPECT_EQ(schedule.call(3), Ranks{3});
    EXPECT_TRUE(schedule.call(3).empty());
    EXPECT_EQ(schedule.call(2), (Ranks{2, 3}));
    EXPECT_EQ(schedule.call(3), (Ranks{1, 3}));
}

TEST(StaticSchedule, NodesAreInTheOrderOfTheirLowestRanks) {
    Scenario scenario = even_cluster(3, 1);
    scenario.workers[0].node = 2;
    scenario.workers[2].node = 0;
    StaticSchedule schedule(scenario);
    EXPECT_TRUE(schedule.call(2).empty());
    EXPECT_TRUE(schedule.call(1).empty());
    EXPECT_EQ(schedule.call(0), (Ranks{0, 1, 2}));
    for (controller::Rank rank = 0; rank < 3; ++rank) EXPECT_EQ(schedule.call(rank), Ranks{rank});
    // Opposite nodes meet: the first and the second. The third is left out.
    EXPECT_EQ(schedule.call(2), Ranks{2});
    EXPECT_TRUE(schedule.call(1).empty());
    EXPECT_EQ(schedule.call(0), (Ranks{0, 1}));
}

// In any order of calls, the schedule goes on, and each worker is returned once for each of its
// calls.
TEST(StaticSchedule, AnswersEveryCallInAnyOrder) {
    const uint64_t seed = 5;
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    base::Random random(seed);
    for (int trial = 0; trial < 30; ++trial) {
        const Scenario scenario = even_cluster(1 + static_cast<uint32_t>(random.below(5)),
                                               1 + static_cast<uint32_t>(random.below(5)));
        StaticSchedule schedule(scenario);
        Ranks computing;
        for (controller::Rank rank = 0; rank < scenario.world(); ++rank) computing.push_back(rank);
        for (int call = 0; call < 500; ++call) {
            ASSERT_FALSE(computing.empty()) << "all wait for each other";
            const size_t next = random.below(computing.size());
            const controller::Rank caller = computing[next];
            computing.erase(computing.begin() + static_cast<std::ptrdiff_t>(next));
            for (const controller::Rank member : schedule.call(caller)) {
                ASSERT_EQ(std::count(computing.begin(), computing.end(), member), 0);
                computing.push_back(member);
            }
        }
    }
}

}  // namespace
}  // namespace pace::simulator
