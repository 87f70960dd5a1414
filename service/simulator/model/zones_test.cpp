#include "service/simulator/model/zones.h"

#include <gtest/gtest.h>

#include "service/simulator/model/scenario_fixture.h"
#include "service/simulator/runs/all_reduce.h"
#include "service/simulator/runs/predict.h"
#include "service/simulator/runs/server.h"
#include "service/simulator/timing/exchange_cost.h"

namespace pace::simulator {
namespace {

using Ranks = std::vector<controller::Rank>;

// Half of the nodes are in each of two zones. The zones are joined by 0.5 GB/s, which is half as
// fast as a node's link.
Scenario two_zones(uint32_t nodes) {
    Scenario scenario = even_cluster(nodes, 1);
    for (uint32_t node = 0; node < nodes; ++node)
        scenario.nodes[node].zone = node < nodes / 2 ? "east" : "west";
    scenario.between_zones = BetweenZones{0.5e9, 0};
    return scenario;
}

// One node in each zone: S bytes go each way in 20 ms. Within a zone nothing changes.
TEST(Zones, APairInTwoOfThemIsAsFastAsTheWayBetween) {
    const Scenario scenario = two_zones(4);
    const ExchangeCosts costs(scenario);
    EXPECT_EQ(costs.alone(costs.cost_of(Ranks{0, 2}, {})), std::chrono::milliseconds(2 + 20));
    EXPECT_EQ(costs.alone(costs.cost_of(Ranks{0, 1}, {})), std::chrono::milliseconds(2 + 10));
}

// Two nodes in each zone. With relays S goes each way in 20 ms. Each node's link would take 15 ms.
// Directly it would be 2 * 2 * 2 / 4 S, which takes 40 ms.
TEST(Zones, RelaysSpareTheWayBetween) {
    const Scenario scenario = two_zones(4);
    const std::vector<uint32_t> nodes = {0, 1, 2, 3};
    const Zones zones(scenario);
    EXPECT_EQ(zones.route_of(nodes), Zones::Route::relays);
    EXPECT_EQ(zones.route_of(std::vector<uint32_t>{0, 2}), Zones::Route::direct);
    EXPECT_DOUBLE_EQ(zones.crossing(nodes, Zones::Route::relays).front().streams * 15e6, 10e6);
    EXPECT_DOUBLE_EQ(zones.crossing(nodes, Zones::Route::direct).front().streams * 15e6, 20e6);
    const Outcome outcome = run_all_reduce(scenario, {});
    EXPECT_DOUBLE_EQ(outcome.update_median_s, 0.122);
}

// If the way is twice as fast as the links, the links decide.
TEST(Zones, AWideWayChangesNothing) {
    Scenario scenario = two_zones(4);
    scenario.between_zones->bytes_per_s = 2e9;
    EXPECT_DOUBLE_EQ(run_all_reduce(scenario, {}).update_median_s, 0.117);
}

// Two hops within zones at 1 ms each, and two between zones at 3 ms each.
TEST(Zones, RelaysTakeFourHops) {
    Scenario scenario = two_zones(4);
    scenario.latency_s = 0.001;
    scenario.between_zones->latency_s = 0.003;
    const ExchangeCosts costs(scenario);
    EXPECT_DOUBLE_EQ(costs.cost_of(Ranks{0, 1, 2, 3}, {}).latency_s, 0.008);
    EXPECT_DOUBLE_EQ(costs.cost_of(Ranks{0, 2}, {}).latency_s, 0.006);
    EXPECT_DOUBLE_EQ(costs.cost_of(Ranks{2, 3}, {}).latency_s, 0.002);
}

// Two pairs that cross at one time have half of the way each, because the way is one channel.
TEST(Zones, ExchangesShareTheWay) {
    const Scenario scenario = two_zones(4);
    const ExchangeCosts costs(scenario);
    const auto first = costs.cost_of(Ranks{0, 2}, {}).moving.uses;
    const auto second = costs.cost_of(Ranks{1, 3}, {}).moving.uses;
    EXPECT_EQ(first.back(), second.back());
    EXPECT_NE(first.front(), second.front());
}

TEST(Zones, WithoutAWordOfWhatJoinsThemTheyAreOnlyNames) {
    Scenario scenario = two_zones(4);
    scenario.between_zones.reset();
    EXPECT_DOUBLE_EQ(run_all_reduce(scenario, {}).update_median_s, 0.117);
}

// One node in each zone. Half of the model crosses with each push and pull, which takes 10 ms
// instead of 5. The two directions do not share the way.
TEST(Zones, BoundServersToo) {
    Candidate candidate;
    candidate.policy = controller::Policy::bsp;
    EXPECT_DOUBLE_EQ(run_server(two_zones(2), candidate).update_median_s,
                     0.100 + 2 * (0.002 + 0.010));
}

}  // namespace
}  // namespace pace::simulator
