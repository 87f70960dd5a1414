#include "tempo.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace demo {
namespace {

// Returns the lengths of one step on each of eight workers.
std::vector<double> lengths(const std::string& imbalance, uint64_t step) {
    std::vector<double> result;
    for (uint32_t rank = 0; rank < 8; ++rank) {
        Options options;
        options.rank = rank;
        options.world = 8;
        options.step_ms = 10;
        options.imbalance = imbalance;
        options.delay_ms = 5;
        result.push_back(Tempo(options).length_of(step).count());
    }
    return result;
}

TEST(TempoTest, StepsAreAlikeUnlessToldOtherwise) {
    EXPECT_EQ(lengths("none", 3), std::vector<double>(8, 10));
}

TEST(TempoTest, OneWorkerIsDelayedAtATimeAndEachHasItsTurn) {
    std::vector<int> turns(8);
    for (uint64_t step = 0; step < 200; ++step) {
        const std::vector<double> now = lengths("one", step);
        EXPECT_EQ(std::count(now.begin(), now.end(), 15.0), 1);
        EXPECT_EQ(std::count(now.begin(), now.end(), 10.0), 7);
        ++turns[static_cast<size_t>(std::find(now.begin(), now.end(), 15.0) - now.begin())];
    }
    for (const int count : turns) EXPECT_GT(count, 5);
}

TEST(TempoTest, AllWorkersAreSkewedAndTheSkewShifts) {
    EXPECT_EQ(lengths("all", 0), (std::vector<double>{10, 15, 20, 25, 30, 35, 40, 45}));
    EXPECT_EQ(lengths("all", 1), (std::vector<double>{15, 20, 25, 30, 35, 40, 45, 10}));
}

}  // namespace
}  // namespace demo
