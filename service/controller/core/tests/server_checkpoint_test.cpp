// Server checkpoints: when nodes are told to save, and what becomes of a model that has lost a
// part.
#include "service/controller/core/tests/server_fixture.h"

namespace pace::controller {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

JobOptions saving(uint32_t world) {
    JobOptions options = serving(world);
    options.rate = Rate::sum;
    options.checkpoint_every_ms = 1000;
    return options;
}

class SavingHosts : public Hosts {
  public:
    // All nodes save the last ordered checkpoint, each shard on its node and the next.
    void save() {
        const auto [position, ledger] = *at_checkpoints.rbegin();
        const std::vector<NodeId> places = view.shards;
        for (auto& [node, report] : reports) report.saved.clear();
        for (uint32_t shard = 0; shard < places.size(); ++shard) {
            for (const NodeId node : {places[shard], places[(shard + 1) % places.size()]})
                model_at(reports[node], ledger).there.push_back(shard);
            fixture.send(from(places[shard], ServerSaved{1, view.generation, position, shard, {}}));
        }
    }
    size_t checkpoints() const { return at_checkpoints.size(); }

  private:
    SavedModel& model_at(ServerReport& report, const ServerLedger& ledger) const {
        const auto shards = static_cast<uint32_t>(view.shards.size());
        if (report.saved.empty())
            report.saved.push_back({token, view.generation, shards, {}, ledger});
        return report.saved.back();
    }
};

TEST(ServerCheckpoints, AreOrderedAtTheIntervalAndEndWhenAllShardsAreDurable) {
    SavingHosts hosts;
    hosts.start(saving(3));
    hosts.pass(seconds(5));
    EXPECT_EQ(hosts.checkpoints(), 0U);  // nothing has changed
    hosts.push(0, 0);
    EXPECT_EQ(hosts.checkpoints(), 1U);
    hosts.push(1, 0);
    hosts.pass(seconds(5));
    EXPECT_EQ(hosts.checkpoints(), 1U);  // one at a time
    hosts.fixture.clear();
    hosts.save();
    const auto ended = hosts.fixture.sent<CheckpointEnded>();
    ASSERT_EQ(ended.size(), 1U);
    EXPECT_EQ(ended[0].position, hosts.at_checkpoints.begin()->first);
    EXPECT_EQ(ended[0].to.size(), 3U);
    EXPECT_TRUE(ended[0].failure.empty());
    hosts.send(Tick{});
    EXPECT_EQ(hosts.checkpoints(), 2U);
}

TEST(ServerCheckpoints, AreOrderedForWhoAsksOnceItsUpdatesAre) {
    SavingHosts hosts;
    JobOptions options = saving(2);
    options.checkpoint_every_ms = 0;
    hosts.start(options);
    hosts.send(from(hosts.node_of[0], CheckpointAsked{1, hosts.view.generation, 0, 1}));
    hosts.push(1, 0);
    EXPECT_EQ(hosts.checkpoints(), 0U);
    hosts.push(0, 0);
    EXPECT_EQ(hosts.checkpoints(), 1U);
    // From a worker that is absent, or of another generation.
    hosts.send(from(hosts.node_of[1], CheckpointAsked{1, 7, 1, 0}));
    hosts.send(from(hosts.node_of[1], CheckpointAsked{1, hosts.view.generation, 9, 0}));
    hosts.fixture.clear();
    hosts.save();
    hosts.send(Tick{});
    EXPECT_EQ(hosts.checkpoints(), 1U);
}

TEST(ServerCheckpoints, AFailureNamesTheNodeAndLeavesOlderOnes) {
    SavingHosts hosts;
    hosts.start(saving(2));
    hosts.push(0, 0);
    hosts.pass(seconds(1));
    ASSERT_EQ(hosts.checkpoints(), 1U);
    hosts.fixture.clear();
    const uint64_t position = hosts.at_checkpoints.begin()->first;
    hosts.fixture.send(from(hosts.node_of[1],
                            ServerSaved{1, hosts.view.generation, position, 1, "no space left"}));
    const auto ended = hosts.fixture.sent<CheckpointEnded>();
    ASSERT_EQ(ended.size(), 1U);
    EXPECT_NE(ended[0].failure.find("node1"), std::string::npos) << ended[0].failure;
    EXPECT_NE(ended[0].failure.find("no space left"), std::string::npos);
}

// The node comes back without its memory, or does not come back. The model and the clocks are those
// of the checkpoint.
TEST(ServerCheckpoints, AModelThatIsLostGoesOnFromTheNewestOne) {
    for (const bool comes_back : {true, false}) {
        SavingHosts hosts;
        const auto nodes = hosts.start(saving(3));
        for (const Rank rank : {0U, 1U, 2U}) hosts.push(rank, 0);
        hosts.push(0, 1);
        hosts.pass(seconds(1));
        const ServerLedger then = hosts.at_checkpoints.rbegin()->second;
        hosts.save();
        for (const Rank rank : {0U, 1U, 2U}) hosts.push(rank, rank == 0 ? 2 : 1);
        const auto gone = hosts.reports[nodes[2]].saved;
        hosts.reports.erase(nodes[2]);
        hosts.send(NodeLost{nodes[2], "killed"});
        if (comes_back) {
            ASSERT_EQ(hosts.attach("node2", nodes[2]), nodes[2]);
            hosts.reports[nodes[2]].saved = gone;
            hosts.join(nodes[2], 2, saving(3));
        } else {
            EXPECT_EQ(hosts.generations(), 1U);  // the node is awaited
            hosts.pass(seconds(3));
        }
        EXPECT_EQ(hosts.generations(), 2U) << comes_back;
        EXPECT_FALSE(hosts.view.model_lost);
        EXPECT_EQ(hosts.view.saved_generation, gone.front().generation);
        EXPECT_EQ(hosts.view.ledger.position, then.position);
        EXPECT_EQ(hosts.view.ledger.pushes, 4U);
        ASSERT_GE(hosts.view.ledger.workers.size(), 2U);
        EXPECT_EQ(hosts.view.ledger.workers[0].clock, 2U);
        EXPECT_EQ(hosts.view.ledger.workers[1].clock, 1U);
        for (const NodeId node : hosts.view.shards) EXPECT_TRUE(comes_back || node != nodes[2]);
    }
}

// One node has restarted and its neighbour is not back yet; together they have all parts.
TEST(ServerCheckpoints, ANodeThatIsNotBackYetIsWaitedForWithItsDisk) {
    SavingHosts hosts;
    const auto nodes = hosts.start(saving(4));
    for (Rank rank = 0; rank < 4; ++rank) hosts.push(rank, 0);
    hosts.pass(seconds(1));
    hosts.save();
    // Node i and the next have copies of shard i.
    const std::vector<NodeId> places = hosts.view.shards;
    std::map<NodeId, std::vector<SavedModel>> disks;
    for (const size_t i : {0U, 1U, 2U}) {
        disks[places[i]] = hosts.reports[places[i]].saved;
        hosts.reports.erase(places[i]);
        hosts.send(NodeLost{places[i], "killed"});
    }
    // The first is back, and has a worker again. It must not keep an empty shard because of that.
    for (const size_t i : {0U, 1U}) {
        EXPECT_LT(hosts.generations(), 2U) << i;
        const auto rank =
            static_cast<Rank>(std::find(nodes.begin(), nodes.end(), places[i]) - nodes.begin());
        ASSERT_EQ(hosts.attach("node" + std::to_string(rank), places[i]), places[i]);
        hosts.reports[places[i]].saved = disks[places[i]];
        hosts.join(places[i], rank, saving(4));
        hosts.send(from(places[i], WorkerAdmit{1, rank, false}));
        if (i == 0) hosts.pass(milliseconds(200));
    }
    EXPECT_EQ(hosts.generations(), 2U);
    EXPECT_FALSE(hosts.view.model_lost);
}

// Controller and daemons were killed together: the clocks also continue from the checkpoint.
TEST(ServerCheckpoints, AModelThatNobodyRemembersGoesOnFromTheNewestOne) {
    SavingHosts hosts;
    const auto nodes = hosts.start(saving(3));
    for (Rank rank = 0; rank < 3; ++rank) hosts.push(rank, 0);
    hosts.push(0, 1);
    hosts.pass(seconds(1));
    const ServerLedger then = hosts.at_checkpoints.rbegin()->second;
    hosts.save();
    hosts.push(0, 2);
    std::map<NodeId, std::vector<SavedModel>> disks;
    for (const NodeId node : nodes) disks[node] = hosts.reports[node].saved;
    const uint64_t generation = hosts.view.generation;
    hosts.fixture.restart();
    hosts.fixture.replay_journal();
    hosts.reports.clear();
    for (Rank rank = 0; rank < 3; ++rank) {
        ASSERT_EQ(hosts.attach("node" + std::to_string(rank), nodes[rank]), nodes[rank]);
        hosts.reports[nodes[rank]].saved = disks[nodes[rank]];
        hosts.come_back(nodes[rank], rank, saving(3));
    }
    hosts.pass(seconds(3));
    for (Rank rank = 0; rank < 3; ++rank)
        hosts.send(from(nodes[rank], WorkerAdmit{1, rank, false}));
    EXPECT_FALSE(hosts.view.model_lost);
    EXPECT_GT(hosts.view.generation, generation);
    EXPECT_EQ(hosts.view.ledger.pushes, then.pushes);
    // As newcomers, the workers begin at the slowest clock.
    for (const auto& worker : hosts.view.ledger.workers) EXPECT_GE(worker.clock, 1U);
}

TEST(ServerCheckpoints, WhatIsSavedOnTooFewNodesDoesNotHelp) {
    SavingHosts hosts;
    const auto nodes = hosts.start(saving(3));
    hosts.push(0, 0);
    hosts.pass(seconds(1));
    hosts.save();
    hosts.reports[nodes[1]].saved.clear();
    hosts.reports.erase(nodes[2]);
    hosts.send(NodeLost{nodes[2], "killed"});
    hosts.pass(seconds(3));
    // The shard that was only on nodes 1 and 2 is lost.
    EXPECT_TRUE(hosts.view.model_lost);
    EXPECT_EQ(hosts.view.saved_generation, 0U);
    // Its disk returns later, before anybody has broadcast.
    ASSERT_EQ(hosts.attach("node2", nodes[2]), nodes[2]);
    SavedModel back = hosts.reports[nodes[0]].saved.front();
    back.there = {0, 1, 2};
    hosts.reports[nodes[2]].saved = {back};
    hosts.join(nodes[2], 2, saving(3));
    EXPECT_FALSE(hosts.view.model_lost);
    EXPECT_EQ(hosts.view.saved_generation, back.generation);
}

TEST(ServerCheckpoints, AnotherJobOfTheNameIsRestoredOnlyIfItAsksForThat) {
    for (const bool restores : {true, false}) {
        SavingHosts hosts;
        JobOptions options = saving(2);
        options.restore = restores;
        SavedModel old;
        old.token = 12345;
        old.generation = uint64_t{8} << 32U;
        old.shards = 3;
        old.there = {0, 1, 2};
        old.ledger.position = 40;
        old.ledger.pushes = 30;
        old.ledger.fastest = 16;
        old.ledger.workers = {{0, 16, 16, 0}, {1, 14, 14, 0}, {2, 15, 15, 0}};
        for (Rank rank = 0; rank < 2; ++rank) {
            const NodeId node = hosts.attach("node" + std::to_string(rank));
            hosts.reports[node].saved = {old};
            hosts.join(node, rank, options);
        }
        EXPECT_EQ(hosts.generations(), 9U);  // above all on any disk
        EXPECT_EQ(hosts.view.saved_generation, restores ? old.generation : 0U);
        EXPECT_EQ(hosts.view.shards.size(), restores ? 3U : 2U);
        EXPECT_EQ(hosts.view.ledger.workers.size(), 2U);
        EXPECT_EQ(hosts.view.ledger.workers[1].clock, restores ? 14U : 0U);
        if (!restores) {
            // The checkpoint does not help either when a part is lost.
            hosts.reports[hosts.node_of[0]].shards.clear();
            hosts.send(from(hosts.node_of[0], Stalled{1, {}}));
            hosts.pass(seconds(3));
            EXPECT_TRUE(hosts.view.model_lost);
        }
    }
}

}  // namespace
}  // namespace pace::controller
