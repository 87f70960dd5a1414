// Server jobs: which node keeps which shard, and what becomes of the order when workers, nodes and
// the controller come and go.
#include "service/controller/core/serving/server_job.h"

#include <algorithm>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "service/controller/core/tests/server_fixture.h"

namespace pace::controller {
namespace {

using std::chrono::seconds;

TEST(ServerJob, TheFirstViewPlacesAShardOnEachNode) {
    Hosts hosts;
    const std::vector<NodeId> nodes = hosts.start(serving(4));
    std::vector<NodeId> places = hosts.view.shards;
    std::sort(places.begin(), places.end());
    EXPECT_EQ(places, nodes);
    EXPECT_EQ(hosts.generations(), 1U);
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
    hosts.push(0, 0);  // repeated
    hosts.push(9, 0);  // no such worker
    EXPECT_EQ(hosts.take_steps(), (std::vector<ServerStep>{ServerStep::push, ServerStep::pull}));
    for (const auto& [node, report] : hosts.reports)
        EXPECT_EQ(report.ledger.position, hosts.reports.begin()->second.ledger.position);
}

TEST(ServerJob, WhatIsOfAnotherGenerationIsNotOrdered) {
    Hosts hosts;
    hosts.start(serving(2));
    hosts.take_steps();
    hosts.send(from(hosts.node_of[0], ServerStored{1, 7, 0, 0}));
    hosts.send(from(hosts.node_of[0], ServerAsked{1, 7, 0, 0, 0}));
    hosts.send(from(hosts.node_of[0], ServerAssigned{1, 7, 0}));
    EXPECT_TRUE(hosts.take_steps().empty());
}

TEST(ServerJob, ARoundIsAssignedOnceHoweverManyNodesSaySo) {
    Hosts hosts;
    hosts.start(serving(3));
    hosts.take_steps();
    for (const Rank rank : {0U, 1U, 2U})
        hosts.send(from(hosts.node_of[rank], ServerAssigned{1, hosts.view.generation, 0}));
    hosts.send(from(hosts.node_of[0], ServerAssigned{1, hosts.view.generation, 5}));
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
    hosts.send(from(hosts.node_of[2], WorkerLeave{1, 2, false, 0}));
    const std::vector<ServerStep> steps = hosts.take_steps();
    EXPECT_EQ(steps, (std::vector<ServerStep>{ServerStep::leave, ServerStep::pull}));
    // Its node keeps its shard.
    EXPECT_EQ(hosts.generations(), 1U);
    EXPECT_NE(std::count(hosts.view.shards.begin(), hosts.view.shards.end(), hosts.node_of[2]), 0);
    EXPECT_NE(std::count(hosts.view.to.begin(), hosts.view.to.end(), hosts.node_of[2]), 0);
}

TEST(ServerJob, AStoppedWorkerThatHoldsUpAPullIsSuspended) {
    Hosts hosts;
    hosts.start(serving(2, Policy::bsp));
    hosts.push(0, 0);
    hosts.pull(0, 1);
    hosts.take_steps();
    From<Heartbeat> stopped;
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
    hosts.fixture.send(from(hosts.node_of[0], Withdraw{1, 0, false}));
    EXPECT_EQ(hosts.fixture.take<Withdrawn>().size(), 1U);
    hosts.push(1, 0);
    EXPECT_EQ(hosts.take_steps(), std::vector<ServerStep>{ServerStep::push});
}

TEST(ServerJob, TheModelIsLostWithANodeThatKeptAShard) {
    Hosts hosts;
    const auto nodes = hosts.start(serving(3));
    hosts.push(0, 0);
    hosts.send(NodeLost{nodes[1], "gone"});
    EXPECT_FALSE(hosts.view.model_lost);  // the node is awaited
    hosts.fixture.pass_hearing(seconds(3), {nodes[0], nodes[2]});
    hosts.send(Tick{});
    EXPECT_TRUE(hosts.view.model_lost);
    EXPECT_EQ(hosts.generations(), 2U);
    EXPECT_EQ(hosts.view.shards.size(), 3U);
    EXPECT_EQ(std::count(hosts.view.shards.begin(), hosts.view.shards.end(), nodes[1]), 0);
    EXPECT_TRUE(hosts.view.ledger.versions.empty());
    EXPECT_EQ(hosts.view.ledger.workers.size(), 2U);
}

// Nothing is ordered meanwhile; the node is told which workers have left.
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
    hosts.send(from(back, JobKept{1, hosts.token, true, false}));
    EXPECT_FALSE(hosts.view.model_lost);
    EXPECT_EQ(hosts.generations(), 1U);
    hosts.push(0, 1);
    hosts.pull(2, 0);
    EXPECT_EQ(hosts.take_steps(), (std::vector<ServerStep>{ServerStep::push, ServerStep::pull}));
    EXPECT_EQ(hosts.reports[back].ledger.position, hosts.reports[nodes[0]].ledger.position);
}

TEST(ServerJob, ARestartedControllerWaitsForNodesThatHaveNoWorkers) {
    Hosts hosts;
    const auto nodes = hosts.start(serving(2));
    hosts.push(0, 0);
    hosts.send(from(nodes[1], WorkerLeave{1, 1, true, 0}));
    hosts.fixture.restart();
    hosts.fixture.replay_journal();
    const uint64_t epoch = hosts.view.epoch;
    ASSERT_EQ(hosts.attach("node0", nodes[0]), nodes[0]);
    hosts.send(from(nodes[0], WorkerJoin{100, 0, serving(2), 1000, true, 5, 0, epoch}));
    EXPECT_EQ(hosts.generations(), 0U);  // too early to decide
    ASSERT_EQ(hosts.attach("node1", nodes[1]), nodes[1]);
    hosts.send(from(nodes[1], JobKept{1, hosts.token, true, false}));
    EXPECT_EQ(hosts.generations(), 1U);
    EXPECT_FALSE(hosts.view.model_lost);
    EXPECT_EQ(hosts.view.ledger.pushes, 1U);
}

TEST(ServerJob, ANewcomersNodeLearnsOfTheOrder) {
    Hosts hosts;
    const auto nodes = hosts.start(serving(2));
    hosts.push(0, 0);
    hosts.send(from(nodes[1], WorkerLeave{1, 1, true, 0}));
    const NodeId late = hosts.attach("late");
    hosts.join(late, 1, serving(2));
    hosts.send(from(late, WorkerAdmit{1, 1, false}));
    EXPECT_EQ(hosts.generations(), 1U);
    EXPECT_EQ(hosts.reports[late].generation, hosts.view.generation);
    EXPECT_TRUE(hosts.reports[late].shards.empty());
    hosts.push(1, 1);
    EXPECT_EQ(hosts.reports[late].ledger.position, hosts.reports[nodes[0]].ledger.position);
}

// Before anybody has got the model, the newcomer would get one that no broadcast has made, and the
// others would wait for its broadcast.
TEST(ServerJob, ANewcomersBroadcastIsPartOfTheRoundThatMakesTheModel) {
    Hosts hosts;
    const auto nodes = hosts.start(serving(2));
    const auto replace_the_second = [&](NodeId node, const std::string& name) {
        hosts.send(from(node, WorkerLeave{1, 1, true, 0}));
        const NodeId late = hosts.attach(name);
        hosts.join(late, 1, serving(2));
        hosts.send(from(late, WorkerAdmit{1, 1, false}));
        return late;
    };
    const NodeId late = replace_the_second(nodes[1], "late");
    ASSERT_EQ(hosts.view.adoptions.size(), 1U);
    EXPECT_EQ(hosts.view.adoptions[0].newcomer, 1U);
    EXPECT_EQ(hosts.view.adoptions[0].donor, kNoRank);
    hosts.push(0, 0);
    replace_the_second(late, "later");
    EXPECT_TRUE(hosts.view.adoptions.empty());
}

// A daemon that thought the controller dead and attaches again has missed messages to its old
// attachment.
TEST(ServerJob, ANodeThatAttachesAnewHearsNothingBeforeAViewHasToldItWhatItMissed) {
    Hosts hosts;
    const auto nodes = hosts.start(serving(3));
    hosts.push(0, 0);
    hosts.deaf = {nodes[2]};
    hosts.push(1, 0);
    hosts.push(2, 0);
    hosts.deaf.clear();
    // The answers to the view are still under way when the others' next updates come.
    ASSERT_EQ(hosts.fixture.attach("node2", nodes[2]), nodes[2]);
    const size_t before = hosts.fixture.sent<ServerOrder>().size();
    for (const Rank rank : {0U, 1U})
        hosts.fixture.send(from(nodes[rank], ServerStored{1, hosts.view.generation, rank, 1}));
    const auto orders = hosts.fixture.sent<ServerOrder>();
    ASSERT_GT(orders.size(), before);
    for (size_t i = before; i < orders.size(); ++i)
        EXPECT_EQ(std::count(orders[i].to.begin(), orders[i].to.end(), nodes[2]), 0);
    hosts.missed_everything_so_far(nodes[2]);
    hosts.send(from(nodes[2], WorkerJoin{102, 2, serving(3), 1000, true, 5, 0, hosts.view.epoch}));
    hosts.send(from(nodes[2], WorkerAdmit{1, 2, false}));
    EXPECT_EQ(hosts.generations(), 1U);
    EXPECT_FALSE(hosts.view.model_lost);
    hosts.push(2, 2);
    for (const NodeId node : nodes) {
        EXPECT_EQ(hosts.reports[node].ledger.pushes, 6U);
        EXPECT_EQ(hosts.reports[node].ledger.position, hosts.reports[nodes[0]].ledger.position);
    }
}

// Every daemon was killed with the controller. The journal says only that there was a model.
TEST(ServerJob, AModelThatNobodyRemembersIsLostAndNotBegunAnew) {
    Hosts hosts;
    const auto nodes = hosts.start(serving(2));
    hosts.push(0, 0);
    hosts.fixture.restart();
    hosts.fixture.replay_journal();
    hosts.reports.clear();
    for (Rank rank = 0; rank < 2; ++rank) {
        ASSERT_EQ(hosts.attach("node" + std::to_string(rank), nodes[rank]), nodes[rank]);
        hosts.come_back(nodes[rank], rank, serving(2));
    }
    hosts.pass(seconds(5));
    for (Rank rank = 0; rank < 2; ++rank)
        hosts.send(from(nodes[rank], WorkerAdmit{1, rank, false}));
    EXPECT_TRUE(hosts.view.model_lost);
    EXPECT_EQ(hosts.view.shards.size(), 2U);
    std::vector<NodeId> places = hosts.view.shards;
    std::sort(places.begin(), places.end());
    EXPECT_EQ(places, nodes);
}

// Until a worker broadcasts, the nodes have zeros.
TEST(ServerJob, AModelThatIsLostIsLostToTheNextLifeToo) {
    Hosts hosts;
    const auto nodes = hosts.start(serving(2));
    hosts.reports[nodes[1]].shards.clear();
    hosts.send(from(nodes[1], Stalled{1, {}}));
    ASSERT_TRUE(hosts.view.model_lost);
    const uint64_t epoch = hosts.view.epoch;
    hosts.fixture.restart();
    hosts.fixture.replay_journal();
    for (Rank rank = 0; rank < 2; ++rank) {
        ASSERT_EQ(hosts.attach("node" + std::to_string(rank), nodes[rank]), nodes[rank]);
        hosts.send(
            from(nodes[rank], WorkerJoin{rank + 100, rank, serving(2), 1000, true, 5, 0, epoch}));
    }
    EXPECT_GT(hosts.view.epoch, epoch);
    EXPECT_EQ(hosts.generations(), 2U);
    EXPECT_TRUE(hosts.view.model_lost);
}

// Rounds are counted from zero after all daemons restarted.
TEST(ServerJob, ALostModelIsGivenAnewByWhateverRound) {
    Hosts hosts;
    const auto nodes = hosts.start(serving(2));
    hosts.send(from(nodes[0], ServerAssigned{1, hosts.view.generation, 7}));
    hosts.reports[nodes[1]].shards.clear();
    hosts.send(from(nodes[1], Stalled{1, {}}));
    ASSERT_TRUE(hosts.view.model_lost);
    hosts.take_steps();
    hosts.send(from(nodes[0], ServerAssigned{1, hosts.view.generation, 0}));
    EXPECT_EQ(hosts.take_steps(), std::vector<ServerStep>{ServerStep::assign});
    // Repeated after a view by a node that does not know the order.
    hosts.send(from(nodes[1], Stalled{1, {}}));
    EXPECT_FALSE(hosts.view.model_lost);
}

// A node that the second life does not hear keeps the generation that the first life began.
TEST(ServerJob, TwoLivesOfTheControllerGiveNoGenerationTwice) {
    std::set<uint64_t> generations;
    for (int life = 0; life < 2; ++life) {
        Hosts hosts;
        const auto nodes = hosts.start(serving(2));
        hosts.reports[nodes[1]].shards.clear();
        hosts.send(from(nodes[1], Stalled{1, {}}));
        ASSERT_EQ(hosts.generations(), 2U);
        generations.insert(hosts.view.generation);
    }
    EXPECT_EQ(generations.size(), 2U);
}

// The journal lags behind the orders: its end may be missing, and no worker may say in which view
// it was.
TEST(ServerJob, ANodeThatKnowsOfANewerViewSaysSo) {
    Hosts hosts;
    const auto nodes = hosts.start(serving(2));
    const uint64_t epoch = hosts.view.epoch;
    hosts.fixture.send(from(nodes[0], Stalled{1, {}}));
    const auto asked = hosts.fixture.take<PrepareView>();
    ASSERT_EQ(asked.size(), 2U);
    auto refused = from(nodes[0], ViewPrepared{1, asked[0].epoch, 0, 0, 0, {}});
    refused.newer_epoch = epoch + 40;
    hosts.fixture.send(refused);
    const auto again = hosts.fixture.sent<PrepareView>();
    ASSERT_EQ(again.size(), 2U);
    EXPECT_EQ(again[0].epoch, epoch + 41);
    hosts.send(NodeHeard{nodes[0]});
    EXPECT_EQ(hosts.view.epoch, epoch + 41);
}

TEST(ServerJob, ThatThereIsNothingToRestoreIsSaid) {
    Hosts hosts;
    JobOptions options = serving(1);
    options.restore = true;
    const NodeId node = hosts.attach("node0");
    hosts.fixture.join(node, 0, options);
    hosts.fixture.answer_views(true);
    hosts.fixture.send(from(node, ViewPrepared{1, hosts.fixture.sent<PrepareView>()[0].epoch, 0}));
    std::string said;
    for (const Note& note : hosts.fixture.sent<Note>())
        if (note.warning) said += note.detail;
    EXPECT_NE(said.find("its nodes have none of this user and name"), std::string::npos) << said;
}

// The order continues from the node that knows most of it, and the others catch up.
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
            hosts.send(from(node, WorkerJoin{rank + 100, rank, options, 1000, true, 5, 0, epoch}));
        }
        EXPECT_GT(hosts.view.epoch, epoch) << with_journal;
        EXPECT_FALSE(hosts.view.model_lost);
        EXPECT_EQ(hosts.generations(), 1U);
        ASSERT_GE(hosts.view.ledger.position, last.position);
        EXPECT_EQ(hosts.view.ledger.pushes, 4U);
        EXPECT_EQ(hosts.view.ledger.versions, last.versions);
        hosts.push(2, 0);  // repeated: already ordered
        EXPECT_EQ(hosts.reports[nodes[0]].ledger.pushes, 4U);
        hosts.push(2, 1);
        EXPECT_EQ(hosts.reports[nodes[2]].ledger.pushes, 5U);
    }
}

TEST(ServerJob, WhenTheJobEndsItsHostsAreTold) {
    Hosts hosts;
    const auto nodes = hosts.start(serving(2));
    for (const Rank rank : {0U, 1U}) hosts.send(from(nodes[rank], WorkerLeave{1, rank, true, 0}));
    EXPECT_EQ(hosts.ended, nodes);
}

}  // namespace
}  // namespace pace::controller
