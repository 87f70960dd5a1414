// Static group tests: the nodes alone determine which workers meet, and no call needs the
// controller. Every test prints its seed.
#include <algorithm>
#include <chrono>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/random.h"
#include "protocol/static_groups.h"
#include "tests/cluster/harness/crew.h"
#include "tests/cluster/harness/faults.h"

namespace pace::cluster {
namespace {

void prague_static(AskedSession& job) {
    job.policy = PACE_POLICY_PRAGUE_STATIC;
}

// Places ranks on nodes in blocks.
std::vector<size_t> in_blocks(const std::vector<size_t>& sizes) {
    std::vector<size_t> nodes;
    for (size_t node = 0; node < sizes.size(); ++node) nodes.insert(nodes.end(), sizes[node], node);
    return nodes;
}

protocol::StaticGroups groups_of(const std::vector<size_t>& nodes) {
    // The groups are in the order of their lowest ranks.
    std::vector<std::vector<uint32_t>> ranks;
    std::map<size_t, size_t> index;
    for (uint32_t rank = 0; rank < nodes.size(); ++rank) {
        const auto [entry, is_new] = index.emplace(nodes[rank], ranks.size());
        if (is_new) ranks.emplace_back();
        ranks[entry->second].push_back(rank);
    }
    return protocol::StaticGroups(std::move(ranks));
}

std::vector<uint32_t> members_of(const Worker& worker) {
    std::vector<uint32_t> ranks;
    for (uint32_t i = 0; i < worker.info().member_listed; ++i)
        ranks.push_back(worker.members()[i].rank);
    return ranks;
}

// All members bring iterations of their own. All members get the newest iteration, and each
// member's staleness.
void expect_told_iterations(Crew& crew, const protocol::StaticGroups& groups, uint64_t turn) {
    const auto brought = [&](uint32_t rank) { return 100 * turn + 7 * rank; };
    std::vector<pace_request> requests;
    for (uint32_t rank = 0; rank < crew.size(); ++rank)
        requests.push_back(crew.worker(rank).average(brought(rank)));
    for (uint32_t rank = 0; rank < crew.size(); ++rank) crew.worker(rank).finish(requests[rank]);
    for (uint32_t rank = 0; rank < crew.size(); ++rank) {
        uint64_t newest = 0;
        for (const uint32_t other : groups.group_of(rank, turn))
            newest = std::max(newest, brought(other));
        EXPECT_EQ(crew.worker(rank).info().iteration, newest)
            << "rank " << rank << ", turn " << turn;
        for (uint32_t i = 0; i < crew.worker(rank).info().member_listed; ++i) {
            const pace_member& member = crew.worker(rank).members()[i];
            EXPECT_EQ(member.staleness, newest - brought(member.rank)) << "rank " << member.rank;
        }
    }
}

// Every worker averages once. The test fails if a value is not the mean of its group.
void average_once(Crew& crew, const protocol::StaticGroups& groups, uint64_t turn,
                  std::vector<double>& values) {
    std::vector<double> expected(values.size());
    for (uint32_t rank = 0; rank < crew.size(); ++rank) {
        const auto group = groups.group_of(rank, turn);
        for (const uint32_t other : group)
            expected[rank] += values[other] / static_cast<double>(group.size());
    }
    std::vector<pace_request> requests;
    for (uint32_t rank = 0; rank < crew.size(); ++rank)
        requests.push_back(crew.worker(rank).average(turn + 1));
    for (uint32_t rank = 0; rank < crew.size(); ++rank) {
        crew.worker(rank).finish(requests[rank]);
        auto group = groups.group_of(rank, turn);
        std::sort(group.begin(), group.end());
        EXPECT_EQ(members_of(crew.worker(rank)), group) << "turn " << turn;
        values[rank] = crew.value(rank);
        EXPECT_NEAR(values[rank], expected[rank], 1e-5) << "rank " << rank << ", turn " << turn;
    }
}

TEST(StaticCluster, HasThePapersAverages) {
    Cluster cluster({.nodes = 4});
    const auto nodes = in_blocks({4, 4, 4, 4});
    Crew crew(cluster, {.nodes = nodes, .tune = prague_static});
    std::vector<double> values(16);
    for (uint32_t rank = 0; rank < 16; ++rank) crew.set(rank, values[rank] = rank);
    const double after_two[] = {3, 6, 9, 12};
    const double at_end[] = {15.0 / 4, 27.0 / 4, 33.0 / 4, 45.0 / 4};
    for (uint64_t turn = 0; turn < 4; ++turn) {
        average_once(crew, groups_of(nodes), turn, values);
        if (turn != 1) continue;
        for (uint32_t rank = 0; rank < 16; ++rank)
            EXPECT_EQ(values[rank], after_two[rank / 4]) << rank;
    }
    for (uint32_t rank = 0; rank < 16; ++rank) EXPECT_EQ(values[rank], at_end[rank / 4]) << rank;
}

TEST(StaticCluster, AveragesOnAnyNodesWhileNoControllerIsThere) {
    base::Random random(test_seed());
    Cluster cluster({.nodes = 3});
    std::vector<size_t> nodes;
    for (int rank = 0; rank < 7; ++rank) nodes.push_back(random.below(3));
    Crew crew(cluster, {.nodes = nodes, .tune = prague_static});
    crew.barrier();
    cluster.kill_controller();
    std::vector<double> values(7);
    for (uint32_t rank = 0; rank < 7; ++rank) crew.set(rank, values[rank] = rank);
    for (uint64_t turn = 0; turn < 40; ++turn) average_once(crew, groups_of(nodes), turn, values);
}

// Returns the groups that status lists, by their members.
std::multiset<std::vector<uint32_t>> listed_groups(const nlohmann::json& job) {
    std::multiset<std::vector<uint32_t>> groups;
    for (const auto& group : job["recent_groups"]) {
        std::vector<uint32_t> ranks;
        for (const auto& member : group["members"]) {
            ranks.push_back(member["rank"]);
            EXPECT_GE(member["ended_us"], member["signalled_us"]) << group;
        }
        EXPECT_EQ(group["state"], "done");
        groups.insert(std::move(ranks));
    }
    return groups;
}

TEST(StaticCluster, StatusShowsTheGroupsThatHaveEnded) {
    Cluster cluster({.nodes = 2});
    const auto nodes = in_blocks({2, 3});
    Crew crew(cluster, {.nodes = nodes, .tune = prague_static});
    const auto groups = groups_of(nodes);
    std::vector<double> values(5);
    for (uint32_t rank = 0; rank < 5; ++rank) crew.set(rank, values[rank] = rank);
    std::multiset<std::vector<uint32_t>> expected;
    for (uint64_t turn = 0; turn < 8; ++turn) {
        average_once(crew, groups, turn, values);
        std::set<std::vector<uint32_t>> of_turn;
        for (uint32_t rank = 0; rank < 5; ++rank) {
            auto group = groups.group_of(rank, turn);
            std::sort(group.begin(), group.end());
            of_turn.insert(std::move(group));
        }
        expected.insert(of_turn.begin(), of_turn.end());
    }
    // Heartbeats bring the status.
    const Deadline deadline = soon();
    nlohmann::json job;
    do {
        ASSERT_LT(std::chrono::steady_clock::now(), deadline) << job;
        job = nlohmann::json::parse(cluster.state())["jobs"][0];
    } while (job["groups_completed"] != expected.size() || listed_groups(job) != expected);
    EXPECT_EQ(job["groups_ordered"], expected.size());
    EXPECT_EQ(job["sync_components"], 1);
    EXPECT_GT(job["spectral_gap"], 0);
    EXPECT_LT(job["spectral_gap"], 1);
    EXPECT_GT(job["exchanged"]["total_s"], 0);
    const std::string text = cluster.pacectl(1, {"status"});
    EXPECT_NE(text.find(" completed\n"), std::string::npos) << text;
    EXPECT_NE(text.find("sync-graph in 1 piece\n"), std::string::npos) << text;
    EXPECT_NE(cluster.pacectl(0, {"trace"}).find("\"exchanging\""), std::string::npos);
}

TEST(StaticCluster, ACallWaitsForItsGroupAlone) {
    Cluster cluster({.nodes = 2});
    Crew crew(cluster, {.nodes = in_blocks({2, 2}), .tune = prague_static});
    for (uint32_t rank = 0; rank < 4; ++rank) crew.set(rank, rank);
    // The first workers of the nodes meet. The other workers have no partner.
    crew.worker(1).finish(crew.worker(1).average(1));
    EXPECT_EQ(members_of(crew.worker(1)), std::vector<uint32_t>{1});
    EXPECT_EQ(crew.value(1), 1);
    const pace_request head = crew.worker(0).average(1);
    EXPECT_EQ(crew.worker(0).wait(head, kMomentMs), PACE_TIMEOUT);
    crew.worker(2).finish(crew.worker(2).average(1));
    crew.worker(0).finish(head);
    EXPECT_EQ(crew.value(0), 1);
    // All workers of one node average, whatever the other node does.
    const pace_request first = crew.worker(0).average(2);
    crew.worker(1).finish(crew.worker(1).average(2));
    crew.worker(0).finish(first);
    EXPECT_EQ(members_of(crew.worker(0)), (std::vector<uint32_t>{0, 1}));
}

TEST(StaticCluster, ACanceledCallIsNoTurn) {
    Cluster cluster({.nodes = 1});
    Crew crew(cluster, {.nodes = in_blocks({3}), .tune = prague_static});
    for (uint32_t rank = 0; rank < 3; ++rank) crew.set(rank, rank);
    const pace_request waits = crew.worker(1).average(1);
    EXPECT_EQ(crew.worker(1).cancel(waits), PACE_OK);
    EXPECT_EQ(crew.worker(1).wait(waits), PACE_CANCELED);
    EXPECT_EQ(crew.value(1), 1);
    const pace_request again = crew.worker(1).average(1);
    crew.worker(2).finish(crew.worker(2).average(1));
    crew.worker(1).finish(again);
    EXPECT_EQ(crew.value(1), 1.5);
}

TEST(StaticCluster, OtherBuffersOfAMemberAreToldToAllOfItsGroup) {
    for (const std::vector<size_t>& sizes : {std::vector<size_t>{3}, std::vector<size_t>{1, 1}}) {
        Cluster cluster({.nodes = sizes.size()});
        Crew crew(cluster, {.nodes = in_blocks(sizes), .tune = prague_static});
        const uint32_t one = crew.size() - 2;
        const uint32_t other = crew.size() - 1;
        crew.worker(other).add_floats(5, 1);
        const pace_request first = crew.worker(one).average(1);
        const pace_request second = crew.worker(other).average(1);
        EXPECT_EQ(crew.worker(one).wait(first), PACE_E_MISMATCH) << sizes.size();
        EXPECT_EQ(crew.worker(other).wait(second), PACE_E_MISMATCH) << sizes.size();
        EXPECT_NE(crew.worker(one).complaint().find("equal types and lengths"), std::string::npos)
            << crew.worker(one).complaint();
    }
}

// The call that waited for the leaver is answered by the worker that it meets now, because the
// phases begin anew.
TEST(StaticCluster, GoesOnWithoutALeaver) {
    Cluster cluster({.nodes = 2});
    Crew crew(cluster, {.nodes = in_blocks({1, 2}), .tune = prague_static});
    for (uint32_t rank = 0; rank < 3; ++rank) crew.set(rank, rank);
    const pace_request waits = crew.worker(0).average(1);
    crew.leave(1);
    // The worker averages alone until the view has changed.
    do {
        crew.worker(2).finish(crew.worker(2).average(1));
    } while (members_of(crew.worker(2)) == std::vector<uint32_t>{2});
    crew.worker(0).finish(waits);
    EXPECT_EQ(members_of(crew.worker(0)), (std::vector<uint32_t>{0, 2}));
    EXPECT_EQ(crew.value(0), 1);
}

TEST(StaticCluster, GroupsTellTheNewestIterationAndHowStaleEachMemberIs) {
    const std::vector<size_t> nodes = in_blocks({2, 3, 1});
    Cluster cluster({.nodes = 3});
    Crew crew(cluster, {.nodes = nodes, .tune = prague_static});
    crew.barrier();
    const protocol::StaticGroups groups = groups_of(nodes);
    for (uint64_t turn = 0; turn < 8; ++turn) expect_told_iterations(crew, groups, turn);
}

}  // namespace
}  // namespace pace::cluster
