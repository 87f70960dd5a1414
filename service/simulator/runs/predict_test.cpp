#include "service/simulator/runs/predict.h"

#include <gtest/gtest.h>

#include "service/controller/vocabulary/options.h"
#include "service/simulator/choice/report.h"
#include "service/simulator/model/scenario_fixture.h"

namespace pace::simulator {
namespace {

using controller::Policy;

constexpr Policy kAllPolicies[] = {
    Policy::all_reduce, Policy::partial_reduce, Policy::prague_random, Policy::prague_smart,
    Policy::ad_psgd,    Policy::full,           Policy::prague_static};

Outcome outcome_of(const Scenario& scenario, Policy policy, uint32_t group_size = 0) {
    const auto outcome = predict(scenario, Candidate{.policy = policy, .group_size = group_size});
    EXPECT_TRUE(outcome) << outcome.error().message;
    return outcome ? *outcome : Outcome{};
}

Scenario with_one_slow(Scenario scenario) {
    scenario.workers.back().slow = 5;
    return scenario;
}

Scenario with_spread_steps(Scenario scenario) {
    scenario.distributions[0] = {Shape::lognormal, 0.1, 0.5, 0, {}};
    return scenario;
}

// 100 ms of computing, 2 ms of memory, and 15 ms for three halves of a model on four nodes' links.
TEST(Predict, AllReduceTakesTheStepAndTheExchange) {
    const Outcome outcome = outcome_of(even_cluster(4, 1), Policy::all_reduce);
    EXPECT_DOUBLE_EQ(outcome.update_median_s, 0.117);
    EXPECT_DOUBLE_EQ(outcome.update_slowest_s, 0.117);
    EXPECT_NEAR(outcome.updates_per_s, 4 / 0.117, 1e-9);
    EXPECT_EQ(outcome.waiting_share, 0);
    EXPECT_NEAR(outcome.exchanging_share, 17.0 / 117, 1e-12);
    EXPECT_EQ(outcome.rho, 0);
    EXPECT_EQ(outcome.spread, 0);
    EXPECT_EQ(outcome.updates, 160U);
    EXPECT_EQ(outcome.groups, 40U);
}

// Three workers wait 400 ms of every 517 ms.
TEST(Predict, AllReduceIsAsSlowAsTheSlowest) {
    const Outcome outcome = outcome_of(with_one_slow(even_cluster(4, 1)), Policy::all_reduce);
    EXPECT_DOUBLE_EQ(outcome.update_median_s, 0.517);
    EXPECT_NEAR(outcome.waiting_share, 3 * 0.4 / (4 * 0.517), 1e-9);
}

TEST(Predict, FullGroupsAreAllReduceByWayOfTheController) {
    Scenario scenario = even_cluster(4, 1);
    scenario.controller_s = 0.004;
    const Outcome outcome = outcome_of(scenario, Policy::full);
    EXPECT_DOUBLE_EQ(outcome.update_median_s, 0.121);
    EXPECT_NEAR(outcome.waiting_share, 4.0 / 121, 1e-9);
    EXPECT_EQ(outcome.rho, 0);
    EXPECT_NEAR(outcome.spread, 0, 1e-12);
}

TEST(Predict, PartialReduceOfAllIsAllReduceToo) {
    const Outcome outcome = outcome_of(even_cluster(1, 3), Policy::partial_reduce, 3);
    EXPECT_DOUBLE_EQ(outcome.update_median_s, 0.106);  // 100 ms, and 2 * 3 models at 10 GB/s
    EXPECT_EQ(outcome.rho, 0);
}

TEST(Predict, PartialReduceDoesNotWaitForTheSlowest) {
    Scenario even = with_spread_steps(even_cluster(4, 4));
    even.steps = 300;
    const Outcome before = outcome_of(even, Policy::partial_reduce, 3);
    const Outcome after = outcome_of(with_one_slow(even), Policy::partial_reduce, 3);
    EXPECT_NEAR(after.update_median_s / before.update_median_s, 1, 0.1);
    EXPECT_GT(after.update_slowest_s, 3 * after.update_median_s);
    EXPECT_GT(after.rho, before.rho);
    EXPECT_EQ(after.conflicts, 0U);
    EXPECT_GT(after.staleness, before.staleness);
}

// rho is about (N - P) / (N - 1), or a little more for few groups. The spread is not quite 1 / (P -
// 1) of a step's variance.
TEST(Predict, RandomGroupsMixAsTheoryHasIt) {
    Scenario scenario = with_spread_steps(even_cluster(8, 2));
    scenario.steps = 600;
    for (const uint32_t size : {2U, 3U, 8U}) {
        const Outcome outcome = outcome_of(scenario, Policy::prague_random, size);
        EXPECT_NEAR(outcome.rho, (16.0 - size) / 15, 0.04) << size;
        EXPECT_LT(outcome.spread, 1.0 / (size - 1));
        EXPECT_GT(outcome.conflicts, outcome.updates / 10);
    }
}

TEST(Predict, GroupsOnOneMachineSlowEachOther) {
    Scenario own = with_spread_steps(even_cluster(8, 1));
    own.bytes = 100e6;
    Scenario shared = own;
    for (Node& node : shared.nodes) node = shared.nodes[0];
    EXPECT_GT(outcome_of(shared, Policy::partial_reduce, 2).update_median_s,
              1.5 * outcome_of(own, Policy::partial_reduce, 2).update_median_s);
}

// Two nodes with two workers each. The exchange of the heads takes 12 ms (2 of memory, 10 of
// links), and so does the exchange across. A node's own exchange takes 4 ms. In each cycle of four
// steps, both workers of a node wait 12 ms: each waits once for the other.
TEST(Predict, StaticGroupsTakeTheirTurns) {
    Scenario scenario = even_cluster(2, 2);
    scenario.controller_s = 1;  // nobody asks the controller
    const Outcome outcome = outcome_of(scenario, Policy::prague_static);
    EXPECT_DOUBLE_EQ(outcome.update_median_s, 0.432 / 4);
    EXPECT_DOUBLE_EQ(outcome.update_slowest_s, 0.432 / 4);
    EXPECT_NEAR(outcome.updates_per_s, 4 / 0.108, 1e-9);
    EXPECT_NEAR(outcome.waiting_share, 12.0 / 432, 1e-12);
    EXPECT_NEAR(outcome.exchanging_share, 20.0 / 432, 1e-12);
    EXPECT_EQ(outcome.groups, 100U);  // ten in a cycle, including single workers
    EXPECT_EQ(outcome.conflicts, 0U);
    EXPECT_EQ(outcome.staleness, 0);
    EXPECT_GT(outcome.rho, 0);
    EXPECT_LT(outcome.rho, 1);
    EXPECT_GT(outcome.spread, 0);
}

// The slow worker's steps take 500 ms, and its exchanges take 0, 4, 12 and 4 ms. In the long run
// all workers are as slow.
TEST(Predict, StaticGroupsAreAsSlowAsTheSlowest) {
    Scenario scenario = with_one_slow(even_cluster(2, 2));
    scenario.steps = 400;
    const Outcome outcome = outcome_of(scenario, Policy::prague_static);
    EXPECT_NEAR(outcome.update_slowest_s, 0.505, 0.002);
    EXPECT_NEAR(outcome.update_median_s, 0.505, 0.002);
    EXPECT_GT(outcome.waiting_share, 0.5);
    EXPECT_EQ(outcome.conflicts, 0U);
}

TEST(Predict, StaticGroupsHaveConstantWeights) {
    Scenario scenario = even_cluster(2, 2);
    const Outcome constant = outcome_of(scenario, Policy::prague_static);
    scenario.options.weights = controller::Weights::dynamic;
    scenario.options.missing = controller::Missing::initial;
    scenario.options.alpha = 0.25;
    EXPECT_EQ(outcome_of(scenario, Policy::prague_static).spread, constant.spread);
}

TEST(Predict, DynamicWeightsChangeTheModelsNotTheTimes) {
    Scenario scenario = with_one_slow(with_spread_steps(even_cluster(4, 2)));
    const Outcome constant = outcome_of(scenario, Policy::partial_reduce, 3);
    scenario.options.weights = controller::Weights::dynamic;
    const Outcome dynamic = outcome_of(scenario, Policy::partial_reduce, 3);
    EXPECT_EQ(dynamic.updates_per_s, constant.updates_per_s);
    EXPECT_EQ(dynamic.staleness, constant.staleness);
    EXPECT_NE(dynamic.spread, constant.spread);
}

TEST(Predict, EveryPolicyGoesOnForeverInEveryWorld) {
    for (uint32_t nodes = 1; nodes <= 3; ++nodes) {
        for (uint32_t workers = 1; workers <= 3; ++workers) {
            Scenario scenario = with_one_slow(even_cluster(nodes, workers));
            if (scenario.world() < 2) continue;
            scenario.policies.assign(std::begin(kAllPolicies), std::end(kAllPolicies));
            for (uint32_t size = 2; size <= scenario.world(); ++size)
                scenario.group_sizes.push_back(size);
            const auto predictions = predict_all(scenario);
            ASSERT_TRUE(predictions) << predictions.error().message;
            for (const Prediction& prediction : *predictions)
                EXPECT_GT(prediction.outcome.updates_per_s, 0) << text_of(prediction.candidate);
        }
    }
}

TEST(Predict, EveryQuorumCompressionAndServerGoesOnForeverInEveryWorld) {
    for (uint32_t nodes = 1; nodes <= 3; ++nodes) {
        for (uint32_t workers = 1; workers <= 3; ++workers) {
            Scenario scenario = with_one_slow(even_cluster(nodes, workers));
            if (scenario.world() < 2) continue;
            scenario.nodes.back().zone = "far";
            scenario.between_zones = BetweenZones{0.1e9, 0.001};
            scenario.policies = {Policy::bsp, Policy::ssp, Policy::asp};
            scenario.staleness = {0, 1, 3};
            scenario.quorums = {{controller::Quorum::solo, 0},
                                {controller::Quorum::majority, 0},
                                {controller::Quorum::majority_strict, 0},
                                {controller::Quorum::count, scenario.world()}};
            scenario.compressions = {controller::Compression::bf16,
                                     controller::Compression::spardl};
            scenario.densities = {0.01, 1};
            const auto predictions = predict_all(scenario);
            ASSERT_TRUE(predictions) << predictions.error().message;
            EXPECT_EQ(predictions->size(), 12U);
            for (const Prediction& prediction : *predictions) {
                EXPECT_GT(prediction.outcome.updates_per_s, 0) << text_of(prediction.candidate);
                EXPECT_EQ(prediction.outcome.rho, 0) << text_of(prediction.candidate);
            }
        }
    }
}

TEST(Predict, TheSameSeedPredictsTheSame) {
    Scenario scenario = with_spread_steps(even_cluster(4, 2));
    scenario.policies.assign(std::begin(kAllPolicies), std::end(kAllPolicies));
    scenario.group_sizes = {2, 3};
    const auto text_with = [&](uint64_t seed) {
        scenario.seed = seed;
        return document(scenario, *predict_all(scenario), {});
    };
    const std::string first = text_with(1);
    EXPECT_EQ(text_with(1), first);
    EXPECT_NE(text_with(2), first);
}

TEST(Predict, AGroupLargerThanTheWorldIsRefused) {
    const auto outcome =
        predict(even_cluster(2, 2), Candidate{.policy = Policy::partial_reduce, .group_size = 5});
    ASSERT_FALSE(outcome);
    EXPECT_NE(outcome.error().message.find("group.size is 5; use 2 to world, which is 4"),
              std::string::npos);
}

TEST(Predict, ThousandsOfWorkersTakeNoTime) {
    Scenario scenario = with_one_slow(with_spread_steps(even_cluster(125, 8)));
    scenario.steps = 5;
    const Outcome outcome = outcome_of(scenario, Policy::partial_reduce, 3);
    EXPECT_GE(outcome.updates, 5'000U);
    EXPECT_LT(outcome.update_median_s, 0.2);
}

}  // namespace
}  // namespace pace::simulator
