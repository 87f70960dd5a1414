#include "service/controller/core/groups/places.h"

#include <cmath>
#include <limits>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"

namespace pace::controller {
namespace {

constexpr uint32_t kPlaceA = Places::kFirstPlace;
constexpr uint32_t kPlaceB = Places::kFirstPlace + 1;

class PlacesTest : public ::testing::Test {
  protected:
    // Sets the milliseconds for 1 MiB, as `from` measured them.
    void measure(NodeId from, NodeId to, double ms) {
        const LinkReport report{
            .node = to, .latency_ns = 0, .ns_per_byte = ms * 1e6 / (1024.0 * 1024.0)};
        ASSERT_TRUE(links_.add(from, report));
    }
    std::vector<uint32_t> places(const std::vector<Places::Node>& nodes) {
        places_.refresh(nodes, links_);
        std::vector<uint32_t> found;
        for (const Places::Node& node : nodes) found.push_back(places_.place_of(node.node));
        return found;
    }
    std::vector<uint32_t> places_of_four() { return places({{1}, {2}, {3}, {4}}); }
    // Two racks of two nodes.
    void measure_two_racks(double across_ms) {
        measure(1, 2, 1);
        measure(3, 4, 1.5);
        for (const NodeId a : {1U, 2U})
            for (const NodeId b : {3U, 4U}) measure(a, b, across_ms);
    }

    LinkTable links_;
    Places places_;
};

TEST_F(PlacesTest, TwoRacksAreTwoPlaces) {
    measure_two_racks(8);
    EXPECT_EQ(places_of_four(), (std::vector<uint32_t>{kPlaceA, kPlaceA, kPlaceB, kPlaceB}));
}

TEST_F(PlacesTest, OnePlaceIsAsGoodAsNone) {
    measure_two_racks(3);
    EXPECT_EQ(places_of_four(), (std::vector<uint32_t>{0, 0, 0, 0}));
}

TEST_F(PlacesTest, APairThatWasNotMeasuredLeavesThemUnknown) {
    measure(1, 2, 1);
    measure(1, 3, 8);
    EXPECT_EQ(places({{1}, {2}, {3}}), (std::vector<uint32_t>{0, 0, 0}));
    measure(3, 2, 9);
    EXPECT_EQ(places({{1}, {2}, {3}}), (std::vector<uint32_t>{kPlaceA, kPlaceA, kPlaceB}));
}

// A chain of near pairs is one place, however far apart its ends are.
TEST_F(PlacesTest, NearPairsConnect) {
    measure(1, 2, 2);
    measure(2, 3, 2);
    measure(1, 3, 20);
    measure(4, 5, 1);
    for (const NodeId a : {1U, 2U, 3U})
        for (const NodeId b : {4U, 5U}) measure(a, b, 9);
    EXPECT_EQ(places({{1}, {2}, {3}, {4}, {5}}),
              (std::vector<uint32_t>{kPlaceA, kPlaceA, kPlaceA, kPlaceB, kPlaceB}));
}

// A pair that becomes near later joins places that were numbered before.
TEST_F(PlacesTest, APlaceIsNumberedByItsFirstNode) {
    for (const NodeId a : {1U, 2U, 3U, 4U})
        for (NodeId b = a + 1; b <= 4; ++b) measure(a, b, 9);
    measure(1, 4, 1);
    EXPECT_EQ(places_of_four(), (std::vector<uint32_t>{kPlaceA, kPlaceB, kPlaceB + 1, kPlaceA}));
    measure(3, 4, 1);
    EXPECT_EQ(places_of_four(), (std::vector<uint32_t>{kPlaceA, kPlaceB, kPlaceA, kPlaceA}));
}

TEST_F(PlacesTest, TheSlowerWayCounts) {
    measure_two_racks(2);
    for (const NodeId a : {3U, 4U})
        for (const NodeId b : {1U, 2U}) measure(a, b, 9);
    EXPECT_EQ(places_of_four(), (std::vector<uint32_t>{kPlaceA, kPlaceA, kPlaceB, kPlaceB}));
}

TEST_F(PlacesTest, NodesWithALabelAreInNoPlaceButTheirLinksCount) {
    measure(1, 2, 8);
    measure(3, 4, 1);
    EXPECT_EQ(places({{1}, {2}, {3, true}, {4, true}}),
              (std::vector<uint32_t>{kPlaceA, kPlaceB, 0, 0}));
    EXPECT_EQ(places({{3}, {4}}), (std::vector<uint32_t>{0, 0})) << "the only pair is near";
}

TEST_F(PlacesTest, AChangeOfSideTakesMoreThanNoise) {
    measure_two_racks(3.9);
    EXPECT_EQ(places_of_four()[2], kPlaceB) << "beyond three when first seen";
    for (const double ms : {2.1, 3.9, 2.5}) {
        measure_two_racks(ms);
        EXPECT_EQ(places_of_four()[2], kPlaceB) << ms;
    }
    measure_two_racks(1.9);
    EXPECT_EQ(places_of_four()[2], 0U);
    for (const double ms : {3.9, 2.5, 3.1}) {
        measure_two_racks(ms);
        EXPECT_EQ(places_of_four()[2], 0U) << ms;
    }
    measure_two_racks(4.1);
    EXPECT_EQ(places_of_four()[2], kPlaceB);
}

TEST_F(PlacesTest, APairWhoseNodeWasGoneIsJudgedAnew) {
    measure_two_racks(3.9);
    EXPECT_EQ(places_of_four()[2], kPlaceB);
    places({{1}, {2}});
    measure_two_racks(2.5);
    EXPECT_EQ(places_of_four()[2], 0U) << "within three when first seen";
}

TEST_F(PlacesTest, NoiseWithinAThirdNeverChangesAnything) {
    base::Random random(3);
    const auto noisy = [&random](double ms) { return ms * (0.8 + 0.4 * random.uniform()); };
    measure_two_racks(6);
    const auto before = places_of_four();
    for (int i = 0; i < 500; ++i) {
        measure(1, 2, noisy(1));
        measure(3, 4, noisy(1.2));
        for (const NodeId a : {1U, 2U})
            for (const NodeId b : {3U, 4U}) measure(a, b, noisy(6));
        ASSERT_EQ(places_of_four(), before) << i;
    }
}

TEST_F(PlacesTest, AJobOfTooManyNodesHasNone) {
    std::vector<Places::Node> nodes;
    for (NodeId node = 1; node <= Places::kNodesMax + 1; ++node) nodes.push_back({node});
    for (NodeId a = 1; a <= Places::kNodesMax; ++a)
        for (NodeId b = a + 1; b <= Places::kNodesMax + 1; ++b)
            measure(a, b, (a <= 32) == (b <= 32) ? 1 : 9);
    EXPECT_EQ(places(nodes)[0], 0U);
    nodes.pop_back();
    EXPECT_EQ(places(nodes)[0], kPlaceA);
    EXPECT_EQ(places(nodes)[40], kPlaceB);
}

TEST(LinkTable, KeepsTheLatestOfEachWayAndRefusesNonsense) {
    LinkTable links;
    EXPECT_TRUE(links.add(1, {.node = 2, .latency_ns = 1000, .ns_per_byte = 2}));
    EXPECT_TRUE(links.add(1, {.node = 2, .latency_ns = 500, .ns_per_byte = 1}));
    EXPECT_EQ(*links.find(1, 2), (Link{500, 1}));
    EXPECT_EQ(links.find(2, 1), nullptr);
    EXPECT_DOUBLE_EQ(*links.mebibyte_ns_between(2, 1), 500 + 1048576.0);
    EXPECT_FALSE(links.mebibyte_ns_between(1, 3));
    EXPECT_FALSE(links.add(1, {.node = 1, .latency_ns = 1, .ns_per_byte = 1}));
    for (const double bad : {-1.0, std::nan(""), std::numeric_limits<double>::infinity(), 1e10})
        EXPECT_FALSE(links.add(1, {.node = 3, .latency_ns = 1, .ns_per_byte = bad}));
    EXPECT_FALSE(links.add(1, {.node = 3, .latency_ns = ~uint64_t{0}, .ns_per_byte = 1}));
}

TEST(LinkTable, RemembersABoundedNumberOfEachNode) {
    LinkTable links;
    size_t taken = 0;
    for (NodeId to = 2; to < 200; ++to)
        if (links.add(1, {.node = to, .latency_ns = 1, .ns_per_byte = 1})) ++taken;
    EXPECT_EQ(taken, LinkTable::kLinksOfNodeMax);
    EXPECT_TRUE(links.add(1, {.node = 2, .latency_ns = 9, .ns_per_byte = 1})) << "known";
}

}  // namespace
}  // namespace pace::controller
