// Server jobs in the core: who keeps which shard, and what becomes of the order when workers, nodes and the controller come and go.
#include "service/controller/core/server_job.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "service/controller/core/server_fixture.h"

namespace pace::controller {
namespace {

using std::chrono::seconds;

TEST(ServerJob, TheFirstViewPlacesAShardOnEachNode) {
    Hosts hosts;
    const std::vector<NodeId> nodes = hosts.start(serving(4));
    std::vector<NodeId> places = hosts.view.shards;
    std::sort(places.begin(), places.end());
    EXPECT_EQ(places, nodes);
    EXPECT_EQ(hosts.view.generation, 1U);
    EXPECT_FALSE(hosts.view.model_lost);
    EXPECT_EQ(hosts.view.ledger.workers.size(), 4U);
}

TEST(ServerJob, AnyNumberOfShardsCanBeAskedFor) {
    JobOptions options = serving(3);
    options.shards = 16;
    Hosts hosts;
    hosts.start(options);
    EXPECT_EQ(hosts.view.shards.size(), 16U);
}

TEST(ServerJob, PushesAndPullsAreOrderedForEveryNode) {
    Hosts hosts;
    hosts.start(serving(3));
    hosts.take_steps();
    hosts.push(0, 0);
    hosts.pull(1, 0);
    hosts.push(0, 0);  // said again
    hosts.push(9, 0);  // nobody
    EXPECT_EQ(hosts.take_steps(), (std::vector<ServerStep>{ServerStep::push, ServerStep::pull}));
    for (const auto& [node, report] : hosts.reports)
        EXPECT_EQ(report.ledger.position, hosts.reports.begin()->second.ledger.position);
}

TEST(ServerJob, WhatIsOfAnotherGenerationIsNotOrdered) {
    Hosts hosts;
    hosts.start(serving(2));
    hosts.take_steps();
    hosts.send(ServerStored{hosts.node_of[0], 1, 7, 0, 0});
    hosts.send(ServerAsked{hosts.node_of[0], 1, 7, 0, 0, 0});
    hosts.send(ServerAssigned{hosts.node_of[0], 1, 7, 0});
    EXPECT_TRUE(hosts.take_steps().empty());
}

TEST(ServerJob, ARoundIsAssignedOnceHoweverManyNodesSaySo) {
    Hosts hosts;
    hosts.start(serving(3));
    hosts.take_steps();
    for (const Rank rank : {0U, 1U, 2U}) hosts.send(ServerAssigned{hosts.node_of[rank], 1, 1, 0});
    hosts.send(ServerAssigned{hosts.node_of[0], 1, 1, 5});
    EXPECT_EQ(hosts.take_steps(),
              (std::vector<ServerStep>{ServerStep::assign, ServerStep::assign}));
}

TEST(ServerJob, AWorkerThatDiesIsWaitedForNoMore) {
    Hosts hosts;
    hosts.start(serving(3, Policy::bsp));
    hosts.push(0, 0);
    hosts.push(1, 0);
    hosts.pull(0, 1);
    hosts.take_steps();
    hosts.send(WorkerLeave{hosts.node_of[2], 1, 2, false, 0});
    const std::vector<ServerStep> steps = hosts.take_steps();
    EXPECT_EQ(steps, (std::vector<ServerStep>{ServerStep::leave, ServerStep::pull}));
    // Its node keeps its shard.
    EXPECT_EQ(hosts.view.generation, 1U);
    EXPECT_NE(std::count(hosts.view.shards.begin(), hosts.view.shards.end(), hosts.node_of[2]), 0);
    EXPECT_NE(std::count(hosts.view.nodes.begin(), hosts.view.nodes.end(), hosts.node_of[2]), 0);
}

TEST(ServerJob, AStoppedWorkerThatHoldsUpAPullIsSuspended) {
    Hosts hosts;
    hosts.start(serving(2, Policy::bsp));
    hosts.push(0, 0);
    hosts.pull(0, 1);
    hosts.take_steps();
    Heartbeat stopped;
    stopped.node = hosts.node_of[1];
    stopped.workers.push_back({1, 1, 0, 0, 0, true, 0});
    for (int i = 0; i < 30; ++i) {
        hosts.fixture.pass_hearing(std::chrono::milliseconds(100),
                                   {hosts.node_of[0], hosts.node_of[1]});
        hosts.send(stopped);
    }
    EXPECT_EQ(hosts.take_steps(), (std::vector<ServerStep>{ServerStep::leave, ServerStep::pull}));
}

TEST(ServerJob, ACanceledPullIsForgotten) {
    Hosts hosts;
    hosts.start(serving(2, Policy::bsp));
    hosts.push(0, 0);
    hosts.pull(0, 1);
    hosts.take_steps();
    hosts.fixture.send(Withdraw{hosts.node_of[0], 1, 0, false});
    EXPECT_EQ(hosts.fixture.take<Withdrawn>().size(), 1U);
    hosts.push(1, 0);
    EXPECT_EQ(hosts.take_steps(), std::vector<ServerStep>{ServerStep::push});
}

TEST(ServerJob, TheModelIsLostWithANodeThatKeptAShard) {
    Hosts hosts;
    const auto nodes = hosts.start(serving(3));
    hosts.push(0, 0);
    hosts.send(NodeLost{nodes[1], "gone"});
    EXPECT_FALSE(hosts.view.model_lost);  // it is waited for
    hosts.fixture.pass_hearing(seconds(3), {nodes[0], nodes[2]});
    hosts.send(Tick{});
    EXPECT_TRUE(hosts.view.model_lost);
    EXPECT_EQ(hosts.view.generation, 2U);
    EXPECT_EQ(hosts.view.shards.size(), 3U);
    EXPECT_EQ(std::count(hosts.view.shards.begin(), hosts.view.shards.end(), nodes[1]), 0);
    EXPECT_TRUE(hosts.view.ledger.versions.empty());
    EXPECT_EQ(hosts.view.ledger.workers.size(), 2U);
}

// Nothing is ordered meanwhile; it hears of who has left.
TEST(ServerJob, ANodeThatComesBackInTimeKeepsItsShard) {
    Hosts hosts;
    const auto nodes = hosts.start(serving(3));
    hosts.push(0, 0);
    hosts.send(NodeLost{nodes[1], "gone"});
    hosts.take_steps();
    hosts.push(0, 1);
    hosts.pull(2, 0);
    EXPECT_TRUE(hosts.take_steps().empty());
    const NodeId back = hosts.attach("node1", nodes[1]);
    ASSERT_EQ(back, nodes[1]);
    hosts.send(WorkerLeave{back, 1, kNoRank, true, 0});
    EXPECT_FALSE(hosts.view.model_lost);
    EXPECT_EQ(hosts.view.generation, 1U);
    hosts.push(0, 1);
    hosts.pull(2, 0);
    EXPECT_EQ(hosts.take_steps(), (std::vector<ServerStep>{ServerStep::push, ServerStep::pull}));
    EXPECT_EQ(hosts.reports[back].ledger.position, hosts.reports[nodes[0]].ledger.position);
}

TEST(ServerJob, ARestartedControllerWaitsForNodesThatHaveNoWorkers) {
    Hosts hosts;
    const auto nodes = hosts.start(serving(2));
    hosts.push(0, 0);
    hosts.send(WorkerLeave{nodes[1], 1, 1, true, 0});
    hosts.fixture.restart();
    hosts.fixture.replay_journal();
    const uint64_t epoch = hosts.view.epoch;
    ASSERT_EQ(hosts.attach("node0", nodes[0]), nodes[0]);
    hosts.send(WorkerJoin{100, nodes[0], 0, serving(2), 1000, true, 5, 0, epoch});
    EXPECT_EQ(hosts.view.generation, 0U);  // too early to say
    ASSERT_EQ(hosts.attach("node1", nodes[1]), nodes[1]);
    hosts.send(WorkerLeave{nodes[1], 1, kNoRank, true, 0});
    EXPECT_EQ(hosts.view.generation, 1U);
    EXPECT_FALSE(hosts.view.model_lost);
    EXPECT_EQ(hosts.view.ledger.pushes, 1U);
}

TEST(ServerJob, ANewcomersNodeLearnsOfTheOrder) {
    Hosts hosts;
    const auto nodes = hosts.start(serving(2));
    hosts.push(0, 0);
    hosts.send(WorkerLeave{nodes[1], 1, 1, true, 0});
    const NodeId late = hosts.attach("late");
    hosts.join(late, 1, serving(2));
    hosts.send(WorkerAdmit{late, 1, 1, false});
    EXPECT_EQ(hosts.view.generation, 1U);
    EXPECT_EQ(hosts.reports[late].generation, 1U);
    EXPECT_TRUE(hosts.reports[late].shards.empty());
    hosts.push(1, 1);
    EXPECT_EQ(hosts.reports[late].ledger.position, hosts.reports[nodes[0]].ledger.position);
}

// The order goes on from the node that has heard most of it, and the others catch up.
TEST(ServerJob, ARestartedControllerGoesOnWhereTheNodesAre) {
    for (const bool with_journal : {true, false}) {
        Hosts hosts;
        const JobOptions options = serving(3);
        const auto nodes = hosts.start(options);
        hosts.push(0, 0);
        hosts.push(1, 0);
        hosts.deaf = {nodes[2]};
        hosts.push(2, 0);
        hosts.push(0, 1);
        const ServerLedger last = hosts.reports[nodes[0]].ledger;
        ASSERT_EQ(hosts.reports[nodes[2]].ledger.position + 2, last.position);
        hosts.deaf.clear();

        hosts.fixture.restart();
        if (with_journal) hosts.fixture.replay_journal();
        const uint64_t epoch = hosts.view.epoch;
        for (Rank rank = 0; rank < 3; ++rank) {
            const NodeId node = hosts.attach("node" + std::to_string(rank), nodes[rank]);
            ASSERT_EQ(node, nodes[rank]);
            hosts.send(WorkerJoin{rank + 100, node, rank, options, 1000, true, 5, 0, epoch});
        }
        EXPECT_GT(hosts.view.epoch, epoch) << with_journal;
        EXPECT_FALSE(hosts.view.model_lost);
        EXPECT_EQ(hosts.view.generation, 1U);
        ASSERT_GE(hosts.view.ledger.position, last.position);
        EXPECT_EQ(hosts.view.ledger.pushes, 4U);
        EXPECT_EQ(hosts.view.ledger.versions, last.versions);
        hosts.push(2, 0);  // said again: it had been ordered
        EXPECT_EQ(hosts.reports[nodes[0]].ledger.pushes, 4U);
        hosts.push(2, 1);
        EXPECT_EQ(hosts.reports[nodes[2]].ledger.pushes, 5U);
    }
}

TEST(ServerJob, WhenTheJobEndsItsHostsAreTold) {
    Hosts hosts;
    const auto nodes = hosts.start(serving(2));
    for (const Rank rank : {0U, 1U}) hosts.send(WorkerLeave{nodes[rank], 1, rank, true, 0});
    EXPECT_EQ(hosts.ended, nodes);
}

}  // namespace
}  // namespace pace::controller
