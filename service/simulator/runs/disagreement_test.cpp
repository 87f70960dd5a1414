#include "service/simulator/runs/disagreement.h"

#include <gtest/gtest.h>

#include <numeric>

namespace pace::simulator {
namespace {

using Parts = std::vector<controller::Part>;

Parts equal_parts(const std::vector<controller::Rank>& ranks) {
    Parts parts;
    for (const controller::Rank rank : ranks)
        parts.push_back({rank, 1, 0, 1.0 / static_cast<double>(ranks.size())});
    return parts;
}

double mean_distance(const Disagreement& disagreement, uint32_t workers) {
    double sum = 0;
    for (controller::Rank rank = 0; rank < workers; ++rank) sum += disagreement.distance(rank);
    return sum / workers;
}

// One of two workers takes a step. Then each is half a step away from their mean.
TEST(Disagreement, AStepMovesAWorkerByOneAndTheMeanByItsPart) {
    Disagreement disagreement(2, 1);
    EXPECT_EQ(disagreement.distance(0), 0);
    disagreement.step(0);
    EXPECT_DOUBLE_EQ(disagreement.distance(0), 0.25);
    EXPECT_DOUBLE_EQ(disagreement.distance(1), 0.25);
}

TEST(Disagreement, AverageOfAllEndsIt) {
    Disagreement disagreement(4, 1);
    for (controller::Rank rank = 0; rank < 4; ++rank) disagreement.step(rank);
    disagreement.average(equal_parts({0, 1, 2, 3}));
    EXPECT_NEAR(mean_distance(disagreement, 4), 0, 1e-12);
}

// Averages two models one step apart with the weights 3/4 and 1/4. Both end a quarter of the way.
TEST(Disagreement, WeightsAreTheOrders) {
    Disagreement disagreement(3, 1);
    disagreement.step(0);
    disagreement.average(Parts{{0, 1, 0, 0.75}, {1, 1, 0, 0.25}});
    EXPECT_DOUBLE_EQ(disagreement.distance(2), 0.25);  // the mean is (3/4 + 3/4) / 3
}

// For many workers in random groups, (v + 1) / P = v gives v = 1 / (P - 1).
TEST(Disagreement, RandomGroupsLeaveWhatTheirSizeSays) {
    constexpr uint32_t kWorkers = 600;
    for (const size_t size : {2U, 3U, 5U}) {
        Disagreement disagreement(kWorkers, 3);
        base::Random random(5);
        std::vector<controller::Rank> ranks(kWorkers);
        std::iota(ranks.begin(), ranks.end(), 0U);
        double sum = 0;
        for (int round = 0; round < 60; ++round) {
            for (size_t left = kWorkers; left > 1; --left)
                std::swap(ranks[left - 1], ranks[random.below(left)]);
            for (const controller::Rank rank : ranks) disagreement.step(rank);
            for (size_t first = 0; first < kWorkers; first += size)
                disagreement.average(
                    equal_parts({ranks.begin() + static_cast<std::ptrdiff_t>(first),
                                 ranks.begin() + static_cast<std::ptrdiff_t>(first + size)}));
            if (round >= 20) sum += mean_distance(disagreement, kWorkers);
        }
        EXPECT_NEAR(sum / 40, 1.0 / (static_cast<double>(size) - 1), 0.05) << size;
    }
}

}  // namespace
}  // namespace pace::simulator
