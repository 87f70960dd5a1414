// Optimizer state test: shows why the average must include optimizer state. SGD with momentum runs
// on four quadratic functions, one for each worker. The sum of the functions is to be minimized. A
// momentum that is not averaged keeps pulling each worker to its own minimum.
#include <array>
#include <cmath>

#include <gtest/gtest.h>

#include "tests/cluster/harness/crew.h"

namespace pace::cluster {
namespace {

// Worker i's loss is curvature[i] / 2 * (x - minimum[i])^2.
constexpr std::array<double, 4> kCurvature = {0.125, 0.25, 0.5, 1};
constexpr std::array<double, 4> kMinimum = {-1, 1, 3, -3};
constexpr double kStep = 0.05;
constexpr double kMomentum = 0.9;

double loss(double x) {
    double sum = 0;
    for (size_t i = 0; i < kCurvature.size(); ++i)
        sum += kCurvature[i] / 2 * (x - kMinimum[i]) * (x - kMinimum[i]);
    return sum;
}

double least_loss() {
    double weight = 0;
    double moment = 0;
    for (size_t i = 0; i < kCurvature.size(); ++i) {
        weight += kCurvature[i];
        moment += kCurvature[i] * kMinimum[i];
    }
    return loss(moment / weight);
}

struct Training {
    std::string policy = PACE_POLICY_FULL;
    uint64_t averages = 0;
    uint64_t local_steps = 1;  // steps before each average
};

// Returns how far the loss of the workers is above the least loss in the second half, on average.
double excess_loss(const Training& training, bool averages_momentum) {
    Cluster cluster({.nodes = 2});
    Crew crew(cluster, {.nodes = {0, 0, 1, 1},
                        .tune = [&](AskedSession& job) { job.policy = training.policy; },
                        .elements = 1});
    std::array<float, 4> own{};
    std::array<float*, 4> momentum{};
    for (uint32_t rank = 0; rank < 4; ++rank) {
        crew.set(rank, 0);
        momentum[rank] = averages_momentum ? crew.worker(rank).add_floats(1, 0) : &own[rank];
    }
    double excess = 0;
    for (uint64_t i = 1; i <= training.averages; ++i) {
        for (uint32_t rank = 0; rank < 4; ++rank) {
            double x = crew.value(rank);
            for (uint64_t step = 0; step < training.local_steps; ++step) {
                const double gradient = kCurvature[rank] * (x - kMinimum[rank]);
                *momentum[rank] = static_cast<float>(kMomentum * *momentum[rank] + gradient);
                x -= kStep * *momentum[rank];
            }
            crew.set(rank, x);
        }
        crew.everyone([i](Worker& worker) { return worker.average(i); });
        for (uint32_t rank = 0; rank < 4 && 2 * i > training.averages; ++rank)
            excess += loss(crew.value(rank)) - least_loss();
    }
    return excess / (2.0 * static_cast<double>(training.averages));
}

TEST(OptimizerState, AveragedWithTheModelBringsLocalSgdNearTheMinimum) {
    const Training training{.averages = 250, .local_steps = 4};
    const double with = excess_loss(training, true);
    const double without = excess_loss(training, false);
    EXPECT_LT(with, without / 10) << "with " << with << ", without " << without;
}

TEST(OptimizerState, AveragedWithTheModelBringsStaticGroupsNearTheMinimum) {
    const Training training{.policy = PACE_POLICY_PRAGUE_STATIC, .averages = 500};
    const double with = excess_loss(training, true);
    const double without = excess_loss(training, false);
    EXPECT_LT(with, without / 10) << "with " << with << ", without " << without;
}

}  // namespace
}  // namespace pace::cluster
