#include "protocol/static_groups.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <gtest/gtest.h>

#include "base/random.h"

namespace pace::protocol {
namespace {

using Rank = StaticGroups::Rank;
using Nodes = std::vector<std::vector<Rank>>;

Nodes of_sizes(const std::vector<size_t>& sizes) {
    Nodes nodes;
    Rank next = 0;
    for (const size_t size : sizes) {
        nodes.emplace_back();
        for (size_t i = 0; i < size; ++i) nodes.back().push_back(next++);
    }
    return nodes;
}

// Returns every group of the phase once. Fails if the members do not agree, or if a member is in
// two groups.
std::set<std::vector<Rank>> groups_of(const Nodes& nodes, uint64_t turn) {
    const StaticGroups groups(nodes);
    std::set<std::vector<Rank>> found;
    for (const auto& node : nodes) {
        for (const Rank rank : node) {
            const std::vector<Rank> group = groups.group_of(rank, turn);
            EXPECT_EQ(std::count(group.begin(), group.end(), rank), 1);
            for (const Rank other : group) EXPECT_EQ(groups.group_of(other, turn), group);
            found.insert(group);
        }
    }
    size_t members = 0;
    for (const auto& group : found) members += group.size();
    size_t world = 0;
    for (const auto& node : nodes) world += node.size();
    EXPECT_EQ(members, world);
    return found;
}

std::set<std::vector<Rank>> without_alone(std::set<std::vector<Rank>> groups) {
    std::erase_if(groups, [](const auto& group) { return group.size() == 1; });
    return groups;
}

std::vector<double> averaged(const std::set<std::vector<Rank>>& groups,
                             const std::vector<double>& values) {
    std::vector<double> result = values;
    for (const auto& group : groups) {
        double sum = 0;
        for (const Rank rank : group) sum += values[rank];
        for (const Rank rank : group) result[rank] = sum / static_cast<double>(group.size());
    }
    return result;
}

TEST(StaticGroups, OfFourNodesWithFourWorkersAreThePapers) {
    const Nodes nodes = of_sizes({4, 4, 4, 4});
    const std::set<std::vector<Rank>> whole = {
        {0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9, 10, 11}, {12, 13, 14, 15}};
    const std::set<std::vector<Rank>> heads = {{0, 4, 8, 12}, {2, 3}, {6, 7}, {10, 11}, {14, 15}};
    const std::set<std::vector<Rank>> across = {{0, 3}, {4, 7}, {8, 11}, {12, 15}, {1, 9}, {5, 13}};
    for (const uint64_t cycle : {0U, 1U, 100U}) {
        EXPECT_EQ(without_alone(groups_of(nodes, 4 * cycle)), heads);
        EXPECT_EQ(groups_of(nodes, 4 * cycle + 1), whole);
        EXPECT_EQ(without_alone(groups_of(nodes, 4 * cycle + 2)), across);
        EXPECT_EQ(groups_of(nodes, 4 * cycle + 3), whole);
    }
}

TEST(StaticGroups, BringTheRanksNearTheirMean) {
    const Nodes nodes = of_sizes({4, 4, 4, 4});
    std::vector<double> x(16);
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<double>(i);
    x = averaged(groups_of(nodes, 0), x);
    x = averaged(groups_of(nodes, 1), x);
    const double after_two[] = {3, 6, 9, 12};
    for (size_t i = 0; i < x.size(); ++i) EXPECT_DOUBLE_EQ(x[i], after_two[i / 4]);
    x = averaged(groups_of(nodes, 2), x);
    x = averaged(groups_of(nodes, 3), x);
    const double after_four[] = {15.0 / 4, 27.0 / 4, 33.0 / 4, 45.0 / 4};
    for (size_t i = 0; i < x.size(); ++i) EXPECT_DOUBLE_EQ(x[i], after_four[i / 4]);
}

TEST(StaticGroups, LeaveTheOddNodeOutOfThePairs) {
    EXPECT_EQ(without_alone(groups_of(of_sizes({2, 2, 2}), 2)),
              (std::set<std::vector<Rank>>{{1, 3}}));
    EXPECT_EQ(without_alone(groups_of(of_sizes({1, 1, 1, 1, 1}), 2)),
              (std::set<std::vector<Rank>>{{0, 2}, {1, 3}}));
    EXPECT_TRUE(without_alone(groups_of(of_sizes({1}), 2)).empty());
}

TEST(StaticGroups, PairWhateverNumberANodeHas) {
    EXPECT_EQ(groups_of(of_sizes({3}), 0), (std::set<std::vector<Rank>>{{0}, {1, 2}}));
    EXPECT_EQ(groups_of(of_sizes({5}), 0), (std::set<std::vector<Rank>>{{0}, {1, 2}, {3, 4}}));
    EXPECT_EQ(groups_of(of_sizes({6}), 0), (std::set<std::vector<Rank>>{{0}, {1}, {2, 3}, {4, 5}}));
    EXPECT_EQ(groups_of(of_sizes({6}), 2), (std::set<std::vector<Rank>>{{0, 5}, {1}, {2, 4}, {3}}));
}

// The groups are disjoint, all workers agree on them, and they mix all workers.
TEST(StaticGroups, OfAnyTopologyAreDisjointAndReachEveryone) {
    base::Random random(7);
    for (int trial = 0; trial < 60; ++trial) {
        std::vector<size_t> sizes(1 + random.below(9));
        for (size_t& size : sizes) size = 1 + random.below(7);
        const Nodes nodes = of_sizes(sizes);
        size_t world = 0;
        for (const size_t size : sizes) world += size;
        // Averaging keeps the mean, and the value of one worker spreads over all workers.
        std::vector<double> x(world, 0);
        x[random.below(world)] = 1;
        for (uint64_t turn = 0; turn < 4 * 300; ++turn) x = averaged(groups_of(nodes, turn), x);
        for (const double value : x) ASSERT_NEAR(value * static_cast<double>(world), 1, 1e-6);
    }
}

TEST(StaticGroups, AreEmptyForAStranger) {
    EXPECT_TRUE(StaticGroups(of_sizes({2, 2})).group_of(9, 0).empty());
    EXPECT_TRUE(StaticGroups().group_of(0, 1).empty());
}

}  // namespace
}  // namespace pace::protocol
