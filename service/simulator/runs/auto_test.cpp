// Tests policy auto with the controller's own core, and compares it with each policy and group size
// that it chooses among.
#include <cstdio>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "service/controller/core/groups/forecast.h"
#include "service/simulator/model/scenario_fixture.h"
#include "service/simulator/runs/predict.h"

namespace pace::simulator {
namespace {

using controller::Policy;

struct Case {
    const char* name;
    Scenario scenario;
};

// Sixteen workers on four nodes. Steps of 100 ms vary a little.
Scenario cluster() {
    Scenario scenario = even_cluster(4, 4);
    scenario.bytes = 1e6;
    scenario.distributions[0] = {Shape::normal, 0.1, 0.02, 0, {}};
    scenario.controller_s = 0.0005;
    scenario.latency_s = 0.00005;
    scenario.steps = 400;
    scenario.seed = 3;
    return scenario;
}

Scenario with_slowest(double slow) {
    Scenario scenario = cluster();
    scenario.workers.back().slow = slow;
    return scenario;
}

Scenario with_steps(const Distribution& distribution) {
    Scenario scenario = cluster();
    scenario.distributions[0] = distribution;
    return scenario;
}

Scenario with_slow_network(double slowest) {
    Scenario scenario = with_slowest(slowest);
    scenario.bytes = 100e6;
    scenario.distributions[0].cv = 0.05;
    return scenario;
}

// Keeps the last eight workers, which are on two nodes.
Scenario of_eight(Scenario scenario) {
    scenario.workers.erase(scenario.workers.begin(), scenario.workers.begin() + 8);
    return scenario;
}

// With less variation, two fast rounds and a slow one would repeatedly add up to whole groups of
// twelve. This would hold for no other case.
Scenario with_slow_half() {
    Scenario scenario = cluster();
    scenario.distributions[0].cv = 0.15;
    for (size_t rank = 8; rank < 16; ++rank) scenario.workers[rank].slow = 2;
    return scenario;
}

std::vector<Case> played_cases() {
    return {{"all alike", cluster()},
            {"one 2x slower", with_slowest(2)},
            {"one 5x slower", with_slowest(5)},
            {"some variation", with_steps({Shape::lognormal, 0.1, 0.5, 0, {}})},
            {"a long tail", with_steps({Shape::lognormal, 0.1, 1, 0, {}})},
            {"a longer tail", with_steps({Shape::pareto, 0.1, 0, 0.06, {}})},
            {"eight, one 5x slower", of_eight(with_slowest(5))},
            {"half of them 2x slower", with_slow_half()},
            {"a slow network", with_slow_network(1)},
            {"a slow network and one 5x slower", with_slow_network(5)}};
}

double effective_of(const Scenario& scenario, const Candidate& candidate) {
    const auto outcome = predict(scenario, candidate);
    EXPECT_TRUE(outcome) << outcome.error().message;
    return outcome ? outcome->effective_per_s() : 0;
}

// auto changes only if a change is worth a tenth. So up to a tenth may be missed, and a twentieth
// more where the forecast is wrong.
TEST(Auto, IsNearTheBestOfAllThatItMayChoose) {
    for (const auto& [name, scenario] : played_cases()) {
        double best = 0;
        std::string best_name;
        for (const controller::Shape& shape : controller::shapes_for(scenario.world())) {
            const uint32_t size = shape.policy == Policy::full ? 0 : shape.group_size;
            const double effective =
                effective_of(scenario, {.policy = shape.policy, .group_size = size});
            if (effective <= best) continue;
            best = effective;
            best_name = controller::text_of(shape);
        }
        const double chosen = effective_of(scenario, {.policy = Policy::automatic});
        EXPECT_GE(chosen, 0.85 * best) << name << ", seed 3: the best is " << best_name;
        std::printf("%-34s auto makes %6.1f, %.0f %% of %s\n", name, chosen, 100 * chosen / best,
                    best_name.c_str());
    }
}

TEST(Auto, IsSimulatedWithAnyNumberOfWorkers) {
    for (uint32_t workers = 2; workers <= 9; ++workers) {
        Scenario scenario = even_cluster(1, workers);
        scenario.distributions[0] = {Shape::normal, 0.1, 0.05, 0, {}};
        EXPECT_GT(effective_of(scenario, {.policy = Policy::automatic}), 0) << workers;
    }
}

}  // namespace
}  // namespace pace::simulator
