#include "service/simulator/exchange_cost.h"

#include <gtest/gtest.h>

#include "service/simulator/scenario_fixture.h"

namespace pace::simulator {
namespace {

using Ranks = std::vector<controller::Rank>;

TEST(ExchangeCost, AloneThereIsNothingToExchange) {
    const ExchangeCost cost = cost_of(even_cluster(2, 2), Ranks{1});
    EXPECT_EQ(cost.fixed_s, 0);
    EXPECT_TRUE(cost.links.empty());
}

// Three workers of one node: it reads three models and writes three.
TEST(ExchangeCost, WithinANodeOnlyItsMemoryCounts) {
    const ExchangeCost cost = cost_of(even_cluster(2, 3), Ranks{0, 1, 2});
    EXPECT_DOUBLE_EQ(cost.fixed_s, 0.006);
    EXPECT_TRUE(cost.links.empty());
}

// Two workers of node 0 and one of node 1: half of the model is each node's block.
TEST(ExchangeCost, AmongNodesEachSendsItsShareOnce) {
    Scenario scenario = even_cluster(2, 2);
    scenario.latency_s = 0.001;
    const ExchangeCost cost = cost_of(scenario, Ranks{0, 1, 2});
    EXPECT_DOUBLE_EQ(cost.fixed_s, 0.004 + 2 * 0.001);
    EXPECT_DOUBLE_EQ(cost.bytes_per_node, 10e6);
    EXPECT_EQ(cost.links, (std::vector<LinkUse>{{0, 1}, {1, 1}}));
}

TEST(ExchangeCost, MoreNodesMoveUpToTwiceTheModel) {
    EXPECT_DOUBLE_EQ(cost_of(even_cluster(4, 1), Ranks{0, 1, 2, 3}).bytes_per_node, 15e6);
}

TEST(ExchangeCost, NodesThatShareALinkBothSendOverIt) {
    Scenario scenario = even_cluster(3, 1);
    scenario.nodes[1].link = 0;
    const ExchangeCost cost = cost_of(scenario, Ranks{0, 1, 2});
    EXPECT_EQ(cost.links, (std::vector<LinkUse>{{0, 2}, {2, 1}}));
}

}  // namespace
}  // namespace pace::simulator
