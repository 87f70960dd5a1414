#include "service/simulator/runs/server.h"

#include <gtest/gtest.h>

#include "service/simulator/model/scenario_fixture.h"

namespace pace::simulator {
namespace {

using controller::Policy;

Outcome served(const Scenario& scenario, Policy policy, uint32_t staleness = 0) {
    Candidate candidate;
    candidate.policy = policy;
    candidate.staleness = staleness;
    return run_server(scenario, candidate);
}

// 100 ms of computing. A push and a pull of half the model over links take 5 ms each, and of the
// whole model through memory 2 ms each.
TEST(Server, BspTakesTheStepAPushAndAPull) {
    const Outcome outcome = served(even_cluster(2, 1), Policy::bsp);
    EXPECT_DOUBLE_EQ(outcome.update_median_s, 0.114);
    EXPECT_NEAR(outcome.exchanging_share, 14.0 / 114, 1e-9);
    EXPECT_EQ(outcome.waiting_share, 0);
    EXPECT_EQ(outcome.staleness, 0);
    EXPECT_EQ(outcome.rho, 0);
}

// Four workers on one node: no link, and four streams through the node's memory, which take 8 ms
// each way. The controller is asked twice.
TEST(Server, TheControllerHasAWordForEachPushAndPull) {
    Scenario scenario = even_cluster(1, 4);
    scenario.controller_s = 0.003;
    const Outcome outcome = served(scenario, Policy::bsp);
    EXPECT_DOUBLE_EQ(outcome.update_median_s, 0.122);
    EXPECT_NEAR(outcome.waiting_share, 6.0 / 122, 1e-9);
}

// Two workers of each node share the node's memory and its link. Half of the model at half of the
// speed takes 10 ms.
TEST(Server, WorkersOfANodeShareItsLink) {
    const Outcome outcome = served(even_cluster(2, 2), Policy::bsp);
    EXPECT_DOUBLE_EQ(outcome.update_median_s, 0.100 + 2 * (0.004 + 0.010));
}

TEST(Server, BspIsAsSlowAsTheSlowest) {
    Scenario scenario = even_cluster(2, 1);
    scenario.workers.back().slow = 5;
    const Outcome outcome = served(scenario, Policy::bsp);
    EXPECT_NEAR(outcome.update_median_s, 0.514, 1e-9);
    EXPECT_NEAR(outcome.update_slowest_s, 0.514, 1e-9);
}

TEST(Server, AspWaitsForNobody) {
    Scenario scenario = even_cluster(2, 1);
    scenario.workers.front().slow = 5;
    scenario.steps = 400;
    const Outcome outcome = served(scenario, Policy::asp);
    EXPECT_NEAR(outcome.updates_per_s, 1 / 0.114 + 1 / 0.514, 0.02);
    EXPECT_EQ(outcome.waiting_share, 0);
    EXPECT_GT(outcome.spread, 0);
    EXPECT_GT(outcome.staleness, 20);  // nothing bounds the staleness
}

// Equal workers learn each other's clocks by each pull. They pull if the clocks are older than
// three steps, that is, after each fourth push.
TEST(Server, SspPullsWhenItKnowsTooLittleOfTheSlowest) {
    const Outcome outcome = served(even_cluster(2, 1), Policy::ssp, 3);
    EXPECT_NEAR(outcome.update_median_s, 0.107 + 0.007 / 4, 2e-4);
    EXPECT_EQ(outcome.waiting_share, 0);
}

// The fast worker is three steps ahead, and then is as slow as the slow worker, which is not
// delayed.
TEST(Server, SspBoundsTheLead) {
    Scenario scenario = even_cluster(2, 1);
    scenario.workers.back().slow = 5;
    scenario.steps = 400;
    const Outcome outcome = served(scenario, Policy::ssp, 3);
    EXPECT_NEAR(outcome.update_median_s, outcome.update_slowest_s, 0.01);
    EXPECT_GT(outcome.waiting_share, 0.3);
    EXPECT_LE(outcome.staleness, 4);
    EXPECT_GT(outcome.staleness, 0);
}

}  // namespace
}  // namespace pace::simulator
