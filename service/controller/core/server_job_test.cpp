// Server jobs in the core: who keeps which shard, and what becomes of the order when workers, nodes and the controller come and go.
#include "service/controller/core/server_job.h"

#include <algorithm>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "service/controller/core/core_fixture.h"

namespace pace::controller {
namespace {

using std::chrono::seconds;

JobOptions serving(uint32_t world, Policy policy = Policy::asp) {
    JobOptions options;
    options.name = "job";
    options.world = world;
    options.policy = policy;
    options.elements = 100;
    options.rate = Rate::dynamic;
    return options;
}

// Daemons that keep what they are told of the model.
class Hosts {
  public:
    Hosts() { fixture.answer_views(false); }

    void send(const Event& event) {
        fixture.send(event);
        for (;;) {
            const auto asked = fixture.sent<PrepareView>();
            hear_orders();
            fixture.clear();
            if (asked.empty()) return;
            for (const PrepareView& prepare : asked) {
                ViewPrepared answer{prepare.node, prepare.job, prepare.epoch, 0, 0, 0, {}};
                answer.server = reports[prepare.node];
                fixture.send(answer);
            }
        }
    }
    NodeId attach(const std::string& name, NodeId last = 0) {
        const NodeId node = fixture.attach(name, last);
        send(NodeHeard{node});
        return node;
    }
    void join(NodeId node, Rank rank, const JobOptions& options) {
        send(WorkerJoin{rank + 100, node, rank, options, 1000, false, 0, 0, 0});
        node_of[rank] = node;
    }
    std::vector<NodeId> start(const JobOptions& options) {
        std::vector<NodeId> nodes;
        for (Rank rank = 0; rank < options.world; ++rank) {
            nodes.push_back(attach("node" + std::to_string(rank)));
            join(nodes.back(), rank, options);
        }
        return nodes;
    }
    void push(Rank rank, uint64_t clock) {
        send(ServerStored{node_of[rank], 1, view.generation, rank, clock});
    }
    void pull(Rank rank, uint64_t clock) {
        send(ServerAsked{node_of[rank], 1, view.generation, rank, clock, clock});
    }
    std::vector<ServerStep> take_steps() { return std::exchange(steps, {}); }

    CoreFixture fixture;
    CommitView view;  // the last
    std::map<NodeId, ServerReport> reports;
    std::vector<ServerStep> steps;  // of the order, as the first node hears it
    std::set<NodeId> deaf;          // hear nothing more
    std::map<Rank, NodeId> node_of;
    std::vector<NodeId> ended;  // were told to forget the job

  private:
    void hear_orders() {
        for (const CommitView& commit : fixture.sent<CommitView>()) hear(commit);
        for (const ServerOrder& order : fixture.sent<ServerOrder>()) {
            for (const NodeId node : order.nodes) {
                ServerReport& report = reports[node];
                if (deaf.contains(node) || order.generation != report.generation) continue;
                for (const ServerEntry& entry : order.entries) hear(report, entry);
            }
            for (const ServerEntry& entry : order.entries) steps.push_back(entry.step);
        }
        for (const ServerEnd& end : fixture.sent<ServerEnd>()) ended = end.nodes;
    }
    void hear(const CommitView& commit) {
        view = commit;
        if (commit.generation == 0) return;
        for (const NodeId node : commit.nodes) {
            ServerReport& report = reports[node];
            if (report.generation == commit.generation)
                for (const ServerEntry& entry : commit.missed)
                    if (entry.position > report.ledger.position) hear(report, entry);
            if (report.generation == commit.generation && !report.shards.empty()) {
                EXPECT_EQ(report.ledger.position, commit.ledger.position);
            }
            if (report.generation != commit.generation) report.tail.clear();
            report.generation = commit.generation;
            report.ledger = commit.ledger;
            report.places = commit.shards;
            report.shards.clear();
            for (uint32_t shard = 0; shard < commit.shards.size(); ++shard)
                if (commit.shards[shard] == node) report.shards.push_back(shard);
        }
    }
    static void hear(ServerReport& report, const ServerEntry& entry) {
        EXPECT_EQ(entry.position, report.ledger.position + 1);
        ServerLedger& ledger = report.ledger;
        ledger.position = entry.position;
        std::erase_if(ledger.workers,
                      [&](const auto& worker) { return worker.rank == entry.worker.rank; });
        if (entry.step == ServerStep::push) {
            ++ledger.pushes;
            ledger.fastest = std::max(ledger.fastest, entry.clock + 1);
            const auto version =
                std::find_if(ledger.versions.begin(), ledger.versions.end(),
                             [&](const auto& other) { return other.version == entry.version; });
            if (version == ledger.versions.end()) {
                ledger.versions.push_back({entry.version, 1});
            } else {
                ++version->updates;
            }
        }
        if (entry.step != ServerStep::leave) ledger.workers.push_back(entry.worker);
        for (const uint64_t expired : entry.expired)
            std::erase_if(ledger.versions,
                          [&](const auto& version) { return version.version == expired; });
        report.tail.push_back(entry);
    }
};

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
