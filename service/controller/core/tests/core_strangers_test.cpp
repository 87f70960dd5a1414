// Core strangers: a node that is attached, and has no member in a job, does not disturb the job.
#include <algorithm>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "protocol/options/limits.h"
#include "service/controller/core/journal/journal_record.h"
#include "service/controller/core/tests/core_fixture.h"

namespace pace::controller {
namespace {

class CoreStrangersTest : public CoreFixture, public testing::Test {
  protected:
    // Says everything about the job that a node of the job may say.
    void say_everything(NodeId stranger, NodeId member) {
        const Heartbeat heartbeat{{{1, 0, 1'000'000, 99, 99, true}}};
        for (const Event& event : std::vector<Event>{
                 from(stranger, WorkerLeave{1, 0, true}),
                 from(stranger, WorkerAdmit{1, 0, true}),
                 from(stranger, Withdraw{1, 0}),
                 from(stranger, Ready{1, 0, 9, 9}),
                 from(stranger, JobKept{1, 12345, true, true}),
                 from(stranger, Stalled{1, {}}),
                 from(stranger, Stalled{1, {member}}),
                 from(stranger, GroupDone{1, 1, true, 0, 0}),
                 from(stranger, ServerStored{1, 1, 0, 99}),
                 from(stranger, ServerAsked{1, 1, 0, 99}),
                 from(stranger, ServerAssigned{1, 1, 99}),
                 from(stranger, ServerSaved{1, 1, 0, 0, "broken"}),
                 from(stranger, CheckpointAsked{1, 1, 0, 0}),
                 from(stranger, heartbeat),
                 from(stranger, ViewPrepared{.job = 1, .epoch = 1, .newer_epoch = 99}),
                 from(stranger, JobDelete{1, "job", 1000}),
             })
            send(event);
    }
};

TEST_F(CoreStrangersTest, AJobDoesNotChangeWhateverAStrangerSays) {
    for (const auto& options : {reducing(2), averaging(2, 2)}) {
        restart();
        const NodeId stranger = attach("stranger");
        const auto nodes = start(options);
        clear();
        say_everything(stranger, nodes[0]);
        pass_hearing(std::chrono::seconds(1), {nodes[0], nodes[1], stranger});
        EXPECT_TRUE(sent<PrepareView>().empty());
        EXPECT_TRUE(sent<CommitView>().empty());
        EXPECT_TRUE(sent<GroupOrder>().empty());
        EXPECT_TRUE(sent<WorkerSuspended>().empty());
        EXPECT_TRUE(sent<Excluded>().empty());
        EXPECT_TRUE(sent<JobEnded>().empty() || sent<JobEnded>()[0].to.front() == stranger);
    }
}

// What a node keeps of a job makes views anew. The token says that it is this job.
TEST_F(CoreStrangersTest, AJobHearsOfNothingKeptFromANodeWithoutItsToken) {
    JobOptions top_k = reducing(2);
    top_k.compression = Compression::spardl;
    JobOptions served = reducing(2);
    served.policy = Policy::asp;
    served.elements = 100;
    for (const JobOptions& options : {top_k, served}) {
        restart();
        const NodeId stranger = attach("stranger");
        const auto nodes = start(options);
        const uint64_t token = sent<JoinAccepted>().at(0).token;
        clear();
        for (int i = 0; i < 5; ++i) send(from(stranger, JobKept{1, token + 1, true, true}));
        pass_hearing(std::chrono::seconds(1), {nodes[0], nodes[1], stranger});
        EXPECT_TRUE(sent<PrepareView>().empty());
        send(from(stranger, JobKept{1, token, true, true}));
        EXPECT_FALSE(sent<PrepareView>().empty()) << "it has kept something";
    }
}

// Its journal is lost, and with it the token under which nodes keep what they have.
TEST_F(CoreStrangersTest, AJobThatAWorkerBringsBackHearsOfWhatIsKeptUnderAnotherToken) {
    JobOptions options = reducing(1);
    options.compression = Compression::spardl;
    restart();
    const NodeId keeper = attach("keeper");
    const NodeId node = attach("node");
    WorkerJoin join{100, 0, options, 1000, true, 5, 5, 7};
    join.run.began = 12;
    const size_t attached = journal().size();
    send(from(node, join));
    const size_t joined = journal().size();
    const uint64_t token = sent<JoinAccepted>().at(0).token;
    const auto is_heard = [&] {
        send(from(node, WorkerAdmit{1, 0, false}));
        clear();
        send(from(keeper, JobKept{1, token + 1, false, true}));
        return !take<PrepareView>().empty();
    };
    EXPECT_TRUE(is_heard());
    // It is so for the controllers that follow, however much of the last write they read.
    for (size_t records = joined; records >= attached; --records) {
        restart();
        replay_journal(records);
        ASSERT_EQ(attach("keeper", keeper), keeper);
        ASSERT_EQ(attach("node", node), node);
        send(from(node, join));
        EXPECT_TRUE(is_heard()) << records - attached << " records of the job";
    }
}

TEST_F(CoreStrangersTest, ACompactedJournalTellsWhichTokensWereLost) {
    JobOptions options = reducing(1);
    options.compression = Compression::spardl;
    for (const bool was_under_way : {false, true}) {
        restart();
        WorkerJoin join{100, 0, options, 1000, false, 0, 0, 7};
        if (was_under_way) join.run.began = 12;
        send(from(attach("node"), join));
        const auto records = core().journal_snapshot();
        const auto told = std::count_if(records.begin(), records.end(), [](const auto& record) {
            return std::holds_alternative<NewTokenRecord>(*decode(record));
        });
        EXPECT_EQ(told, was_under_way ? 1 : 0);
    }
}

TEST_F(CoreStrangersTest, AStrangerDoesNotRaiseTheEpochOfAChangeOfView) {
    const NodeId stranger = attach("stranger");
    const auto nodes = start(reducing(2));
    answer_views(false);
    send(from(nodes[0], Stalled{1, {}}));
    ASSERT_FALSE(sent<PrepareView>().empty());
    const uint64_t epoch = sent<PrepareView>().back().epoch;
    send(from(stranger, ViewPrepared{.job = 1, .epoch = epoch, .newer_epoch = epoch + 1000}));
    for (const NodeId node : nodes) send(from(node, ViewPrepared{.job = 1, .epoch = epoch}));
    ASSERT_FALSE(sent<CommitView>().empty());
    EXPECT_EQ(sent<CommitView>().back().epoch, epoch);
}

TEST_F(CoreStrangersTest, EachPairOfNodesGetsAKeyThatNobodyElseIsTold) {
    make_tokens_distinct();
    const NodeId a = attach("a");
    const NodeId b = attach("b");
    const NodeId c = attach("c");
    using Pair = std::set<NodeId>;
    std::map<std::vector<std::byte>, std::multiset<NodeId>> told;
    for (const auto& known : sent<NodeKnown>()) {
        ASSERT_EQ(known.to.size(), 1U);
        ASSERT_EQ(known.key.size(), protocol::kPairKeyBytes);
        told[known.key].insert(known.to.front());
        told[known.key].insert(known.node);
    }
    ASSERT_EQ(told.size(), 3U);
    std::set<Pair> pairs;
    for (const auto& [key, nodes] : told) {
        EXPECT_EQ(nodes.size(), 4U) << "each of the two is told of the other";
        pairs.insert(Pair(nodes.begin(), nodes.end()));
    }
    EXPECT_EQ(pairs, (std::set<Pair>{{a, b}, {a, c}, {b, c}}));
    // A node that attaches anew gets new keys.
    clear();
    send(NodeLost{b, "restarted"});
    attach("b");
    for (const auto& known : sent<NodeKnown>()) EXPECT_FALSE(told.contains(known.key));
}

}  // namespace
}  // namespace pace::controller
