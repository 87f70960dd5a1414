#include "service/controller/core/jobs/fewest_to_leave.h"

#include <gtest/gtest.h>

namespace pace::controller {
namespace {

using Nodes = std::vector<NodeId>;
using Cuts = std::vector<CutLinks::Pair>;
using Workers = std::map<NodeId, uint32_t>;

TEST(FewestToLeave, NobodyLeavesWithoutACut) {
    EXPECT_EQ(fewest_to_leave({}, {{1, 1}, {2, 1}}), Nodes{});
}

TEST(FewestToLeave, OfTwoTheOneWithFewerWorkersLeaves) {
    EXPECT_EQ(fewest_to_leave(Cuts{{1, 2}}, Workers{{1, 1}, {2, 3}}), Nodes{1});
    EXPECT_EQ(fewest_to_leave(Cuts{{1, 2}}, Workers{{1, 3}, {2, 1}}), Nodes{2});
    EXPECT_EQ(fewest_to_leave(Cuts{{1, 2}}, Workers{{1, 2}, {2, 2}}), Nodes{2});
}

TEST(FewestToLeave, OneThatMissesAllOthersLeavesAloneHoweverManyWorkersItHas) {
    EXPECT_EQ(
        fewest_to_leave(Cuts{{1, 3}, {2, 3}, {3, 4}}, Workers{{1, 1}, {2, 1}, {3, 9}, {4, 1}}),
        Nodes{3});
}

TEST(FewestToLeave, APathOfFourNodesLosesTwo) {
    EXPECT_EQ(
        fewest_to_leave(Cuts{{1, 2}, {2, 3}, {3, 4}}, Workers{{1, 1}, {2, 1}, {3, 1}, {4, 1}}),
        (Nodes{2, 4}));
}

// Always taking the node with the most cuts gives five nodes for the first graph and four for the
// second.
TEST(FewestToLeave, TheFewestAreNotAlwaysThoseWithMostCuts) {
    const Cuts crown{{1, 2}, {1, 4}, {1, 6}, {3, 2}, {5, 4}, {7, 6}, {3, 8}, {5, 8}, {7, 8}};
    EXPECT_EQ(fewest_to_leave(crown, {}).size(), 4U);
    const Cuts spider{{9, 1}, {9, 2}, {9, 3}, {1, 4}, {2, 5}, {3, 6}};
    EXPECT_EQ(fewest_to_leave(spider, {}), (Nodes{1, 2, 3}));
}

TEST(FewestToLeave, OfTwoHalvesThatMissEachOtherTheSmallerLeavesAndTheSearchEnds) {
    Cuts cuts;
    for (NodeId a = 1; a <= 60; ++a)
        for (NodeId b = 61; b <= 128; ++b) cuts.push_back({a, b});
    Nodes smaller;
    for (NodeId a = 1; a <= 60; ++a) smaller.push_back(a);
    EXPECT_EQ(fewest_to_leave(cuts, {}), smaller);
}

}  // namespace
}  // namespace pace::controller
