#include "service/controller/policies/inter_intra.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include <gtest/gtest.h>

namespace pace::controller {
namespace {

using Ranks = InterIntra::Ranks;
using Zone = InterIntra::Zone;
using Plan = std::vector<Ranks>;

struct Place {
    size_t zone = 0;
    size_t node = 0;
};

struct Topology {
    std::vector<Zone> zones;
    std::map<Rank, Place> places;

    // The number of workers of each node of each zone.
    explicit Topology(const std::vector<std::vector<size_t>>& workers) {
        Rank next = 0;
        size_t node_number = 0;
        for (const auto& nodes : workers) {
            Zone zone;
            for (const size_t count : nodes) {
                Ranks node(count);
                std::iota(node.begin(), node.end(), next);
                next += static_cast<Rank>(count);
                for (const Rank rank : node) places[rank] = {zones.size(), node_number};
                ++node_number;
                zone.push_back(std::move(node));
            }
            zones.push_back(std::move(zone));
        }
    }
    std::set<size_t> zones_of(const Ranks& group) const {
        std::set<size_t> found;
        for (const Rank rank : group) found.insert(places.at(rank).zone);
        return found;
    }
    std::set<size_t> nodes_of(const Ranks& group) const {
        std::set<size_t> found;
        for (const Rank rank : group) found.insert(places.at(rank).node);
        return found;
    }
};

// The plan by each worker's turns, each group sorted.
std::vector<Plan> turns_of(const Plan& plan) {
    std::vector<Plan> turns;
    std::map<Rank, size_t> taken;
    for (Ranks group : plan) {
        std::sort(group.begin(), group.end());
        size_t turn = 0;
        for (const Rank rank : group) turn = std::max(turn, taken[rank]);
        for (const Rank rank : group) taken[rank] = turn + 1;
        if (turns.size() <= turn) turns.resize(turn + 1);
        turns[turn].push_back(std::move(group));
    }
    for (Plan& turn : turns) std::sort(turn.begin(), turn.end());
    return turns;
}

// Counts the members of groups across zones.
size_t far_members(const Topology& topology, const Plan& plan) {
    size_t members = 0;
    for (const Ranks& group : plan)
        if (topology.zones_of(group).size() > 1) members += group.size();
    return members;
}

// Two zones of two nodes of two workers: {0 1 | 2 3} and {4 5 | 6 7}.
TEST(InterIntra, TwoZonesOfTwoNodesOfTwoWorkers) {
    const Topology topology({{2, 2}, {2, 2}});
    for (uint64_t seed = 1; seed <= 50; ++seed) {
        base::Random random(seed);
        const Plan plan = InterIntra(2, random).over_zones(topology.zones);
        const std::vector<Plan> turns = turns_of(plan);
        ASSERT_EQ(turns.size(), 3U) << seed;
        // The heads meet. In each zone, the other node's two workers meet the one beside the head.
        ASSERT_EQ(turns[0].size(), 3U) << seed;
        for (const Ranks& group : turns[0]) {
            const bool is_far = topology.zones_of(group).size() == 2;
            EXPECT_EQ(group.size(), is_far ? 2U : 3U) << seed;
        }
        EXPECT_EQ(far_members(topology, plan), 2U) << seed;
        EXPECT_EQ(turns[1], (Plan{{0, 1, 2, 3}, {4, 5, 6, 7}})) << seed;
        EXPECT_EQ(turns[2], (Plan{{0, 1}, {2, 3}, {4, 5}, {6, 7}})) << seed;
    }
}

// The result of a zone head's exchange reaches every worker of its zone within the plan.
TEST(InterIntra, WhatCrossesReachesEveryoneInThePlan) {
    const Topology topology({{4, 3, 4}, {3, 3, 5}, {4}});
    base::Random random(5);
    for (int i = 0; i < 50; ++i) {
        const Plan plan = InterIntra(3, random).over_zones(topology.zones);
        // For each worker, the zones whose models are in its model.
        std::map<Rank, std::set<size_t>> heard;
        for (const auto& [rank, place] : topology.places) heard[rank] = {place.zone};
        for (const Ranks& group : plan) {
            std::set<size_t> all;
            for (const Rank rank : group) all.insert(heard[rank].begin(), heard[rank].end());
            for (const Rank rank : group) heard[rank] = all;
        }
        for (const auto& [rank, zones] : heard) EXPECT_EQ(zones.size(), 3U) << "rank " << rank;
    }
}

TEST(InterIntra, OneZoneWithOneWorkerTakesPartInTheFirstLevelOnly) {
    const Topology topology({{3, 3}, {1}});
    base::Random random(2);
    const Plan plan = InterIntra(3, random).over_zones(topology.zones);
    size_t turns = 0;
    for (const Ranks& group : plan)
        turns += static_cast<size_t>(std::count(group.begin(), group.end(), 6U));
    EXPECT_EQ(turns, 1U);
    EXPECT_EQ(far_members(topology, plan), 2U);
}

TEST(InterIntra, ZonesOfOneWorkerEachAreAFlatDivision) {
    const Topology topology({{1}, {1}, {1}, {1}, {1}});
    base::Random random(3);
    const Plan plan = InterIntra(2, random).over_zones(topology.zones);
    ASSERT_EQ(plan.size(), 2U);
    EXPECT_EQ(plan[0].size() + plan[1].size(), 5U);
}

// If a zone has two workers, one is its head and the zone has nobody else for the other.
TEST(InterIntra, OneWithNobodyElseInHisZoneGoesWithItsHead) {
    for (const auto& workers : {std::vector<size_t>{2}, std::vector<size_t>{1, 1}}) {
        const Topology topology({workers, {3}});
        base::Random random(7);
        const std::vector<Plan> turns = turns_of(InterIntra(2, random).over_zones(topology.zones));
        size_t across = 0;
        for (const Ranks& group : turns[0])
            if (topology.zones_of(group).size() == 2) across = group.size();
        EXPECT_EQ(across, 3U);
    }
}

Topology random_topology(base::Random& random) {
    std::vector<std::vector<size_t>> workers(2 + random.below(4));
    for (auto& nodes : workers) {
        nodes.resize(1 + random.below(4));
        for (size_t& count : nodes) count = 1 + random.below(5);
    }
    return Topology(workers);
}

void check_everyone_has_a_group(const Topology& topology, const Plan& plan) {
    std::map<Rank, size_t> groups;
    for (const Ranks& group : plan) {
        EXPECT_GT(group.size(), 1U) << "somebody is alone";
        for (const Rank rank : group) ++groups[rank];
    }
    for (const auto& [rank, place] : topology.places) {
        size_t in_zone = 0;
        for (const Ranks& node : topology.zones[place.zone]) in_zone += node.size();
        EXPECT_EQ(groups[rank], in_zone == 1 ? 1U : 3U) << "rank " << rank;
    }
}

// One worker of each zone crosses; in a zone with two workers, both do.
void check_who_crosses(const Topology& topology, const Plan& plan) {
    std::vector<size_t> crossing(topology.zones.size());
    for (const Ranks& group : plan)
        if (topology.zones_of(group).size() > 1)
            for (const Rank rank : group) ++crossing[topology.places.at(rank).zone];
    for (size_t zone = 0; zone < crossing.size(); ++zone) {
        size_t workers = 0;
        for (const Ranks& node : topology.zones[zone]) workers += node.size();
        EXPECT_EQ(crossing[zone], workers == 2 ? 2U : 1U) << "zone " << zone;
    }
}

// Each level has groups of group_size; a worker may be beside each head, and one more may join.
void check_sizes(const Topology& topology, const Plan& plan, size_t group_size) {
    for (const Ranks& group : plan) {
        if (topology.nodes_of(group).size() == 1) continue;
        EXPECT_LE(group.size(), 2 * (group_size + 1) + 1);
    }
}

TEST(InterIntra, AnyTopologyGivesEveryoneHisGroupsAndFewCross) {
    base::Random random(11);
    for (int i = 0; i < 2000; ++i) {
        const Topology topology = random_topology(random);
        const auto group_size = static_cast<uint32_t>(2 + random.below(4));
        const Plan plan = InterIntra(group_size, random).over_zones(topology.zones);
        check_everyone_has_a_group(topology, plan);
        check_who_crosses(topology, plan);
        check_sizes(topology, plan, group_size);
        if (::testing::Test::HasFailure()) {
            ADD_FAILURE() << "topology " << i << ", group size " << group_size;
            return;
        }
    }
}

}  // namespace
}  // namespace pace::controller
