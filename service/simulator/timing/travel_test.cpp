#include "service/simulator/timing/travel.h"

#include <gtest/gtest.h>

#include "service/simulator/model/scenario_fixture.h"
#include "service/simulator/runs/all_reduce.h"

namespace pace::simulator {
namespace {

using controller::Compression;

Candidate with(Compression compression, double density = 0) {
    Candidate candidate;
    candidate.compression = compression;
    candidate.density = density;
    return candidate;
}

TEST(Travel, EverythingTravelsWithoutCompression) {
    const Travel travel = travel_of(even_cluster(4, 1), 4, {});
    EXPECT_DOUBLE_EQ(travel.bytes, 15e6);
    EXPECT_EQ(travel.hops, 2);
}

TEST(Travel, HalvesAreTwoBytesForEachNumber) {
    Scenario scenario = even_cluster(4, 1);
    EXPECT_DOUBLE_EQ(travel_of(scenario, 4, with(Compression::f16)).bytes, 7.5e6);
    scenario.element_bytes = 2;
    EXPECT_DOUBLE_EQ(travel_of(scenario, 4, with(Compression::bf16)).bytes, 15e6);
    scenario.element_bytes = 8;
    EXPECT_DOUBLE_EQ(travel_of(scenario, 4, with(Compression::bf16)).bytes, 3.75e6);
}

// 2.5 million numbers, with 1 / 64 of them chosen: k = 39062.5. Each pair has 4 bytes and 2 + 6
// bits. 2 k 3/4 pairs of 5 bytes are sent.
TEST(Travel, SparDlSendsTwiceTheChosenPairs) {
    const Travel travel = travel_of(even_cluster(4, 1), 4, with(Compression::spardl, 1.0 / 64));
    EXPECT_DOUBLE_EQ(travel.bytes, 2 * 39062.5 * 0.75 * 5);
    EXPECT_EQ(travel.hops, 4);
    EXPECT_DOUBLE_EQ(travel.choosing_s, 0.0025);
    EXPECT_TRUE(travel.is_sparse);
    EXPECT_EQ(travel_of(even_cluster(5, 1), 5, with(Compression::spardl, 0.01)).hops, 6);
}

// The whole model in pairs is more than the model.
TEST(Travel, ADensityThatDoesNotPayGoesDense) {
    const Travel travel = travel_of(even_cluster(4, 1), 4, with(Compression::spardl, 1));
    EXPECT_FALSE(travel.is_sparse);
    EXPECT_DOUBLE_EQ(travel.bytes, 15e6);
}

// 100 ms of computing, 2 ms of memory, 2.5 ms to choose, and 0.29 ms of links.
TEST(Travel, ShortensARound) {
    const Outcome outcome = run_all_reduce(even_cluster(4, 1), with(Compression::spardl, 1.0 / 64));
    EXPECT_NEAR(outcome.update_median_s, 0.100 + 0.002 + 0.0025 + 0.00029296875, 1e-8);
}

}  // namespace
}  // namespace pace::simulator
