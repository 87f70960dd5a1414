#include "service/simulator/timing/exchange_cost.h"

#include <gtest/gtest.h>

#include "service/simulator/model/scenario_fixture.h"

namespace pace::simulator {
namespace {

using Ranks = std::vector<controller::Rank>;

ExchangeCost cost_of(const Scenario& scenario, const Ranks& members) {
    return ExchangeCosts(scenario).cost_of(members, {});
}

TEST(ExchangeCost, AloneThereIsNothingToExchange) {
    const ExchangeCost cost = cost_of(even_cluster(2, 2), Ranks{1});
    EXPECT_TRUE(cost.summing.uses.empty());
    EXPECT_TRUE(cost.moving.uses.empty());
    EXPECT_EQ(cost.latency_s, 0);
}

// Three workers of node 1. The node reads three models and writes three.
TEST(ExchangeCost, WithinANodeOnlyItsMemoryCounts) {
    const ExchangeCost cost = cost_of(even_cluster(2, 3), Ranks{3, 4, 5});
    EXPECT_EQ(cost.summing.bytes, 20e6);
    EXPECT_EQ(cost.summing.uses, (std::vector<Use>{{2, 3}}));
    EXPECT_TRUE(cost.moving.uses.empty());
}

// Two workers of node 0 and one of node 1. Each node's block is half of the model.
TEST(ExchangeCost, AmongNodesEachSendsItsShareOnce) {
    Scenario scenario = even_cluster(2, 2);
    scenario.latency_s = 0.001;
    const ExchangeCost cost = cost_of(scenario, Ranks{0, 1, 2});
    EXPECT_EQ(cost.summing.uses, (std::vector<Use>{{0, 2}, {2, 1}}));
    EXPECT_DOUBLE_EQ(cost.moving.bytes, 10e6);
    EXPECT_EQ(cost.moving.uses, (std::vector<Use>{{1, 1}, {3, 1}}));
    EXPECT_DOUBLE_EQ(cost.latency_s, 0.002);
}

TEST(ExchangeCost, MoreNodesMoveUpToTwiceTheModel) {
    EXPECT_DOUBLE_EQ(cost_of(even_cluster(4, 1), Ranks{0, 1, 2, 3}).moving.bytes, 15e6);
}

TEST(ExchangeCost, NodesOnOneMachineUseItsMemoryAndItsLinkTogether) {
    Scenario scenario = even_cluster(3, 1);
    scenario.nodes[1] = scenario.nodes[0];
    const ExchangeCost cost = cost_of(scenario, Ranks{0, 1, 2});
    EXPECT_EQ(cost.summing.uses, (std::vector<Use>{{0, 2}, {4, 1}}));
    EXPECT_EQ(cost.moving.uses, (std::vector<Use>{{1, 2}, {5, 1}}));
}

}  // namespace
}  // namespace pace::simulator
