// Core views: the gate, the view-change protocol, suspension.
#include <gtest/gtest.h>

#include "service/controller/core/tests/core_fixture.h"

namespace pace::controller {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class CoreViewsTest : public ::testing::Test, public CoreFixture {
  protected:
    std::vector<Rank> ranks_of(const CommitView& view) {
        std::vector<Rank> ranks;
        for (const Member& member : view.members) ranks.push_back(member.rank);
        return ranks;
    }
    // By default all rounds ran over the job's first view.
    void answer(NodeId node, uint64_t epoch, uint64_t completed, uint64_t round_epoch = 1,
                uint64_t result_epoch = 1) {
        send(from(node, ViewPrepared{1, epoch, completed, round_epoch, result_epoch}));
    }
};

using Ranks = std::vector<Rank>;

TEST_F(CoreViewsTest, WaitForAllWorkersToJoinOnce) {
    const NodeId a = attach("a");
    join(a, 0, reducing(3));
    join(a, 1, reducing(3));
    send(from(a, WorkerLeave{1, 1, false}));
    EXPECT_TRUE(take<PrepareView>().empty());
    join(a, 2, reducing(3));
    // Rank 1 has joined once; its death since then is an ordinary loss.
    const auto views = take<CommitView>();
    ASSERT_EQ(views.size(), 1U);
    ASSERT_EQ(views[0].to.size(), 1U);
    EXPECT_EQ(views[0].epoch, 1U);
    EXPECT_EQ(views[0].base_round, 0U);
    EXPECT_EQ(ranks_of(views[0]), (Ranks{0, 2}));
}

TEST_F(CoreViewsTest, AreCommittedOnlyWhenEveryNodeHasAnswered) {
    answer_views(false);
    const auto nodes = start(reducing(3));
    EXPECT_EQ(take<PrepareView>().size(), 3U);
    answer(nodes[0], 1, 0);
    answer(nodes[0], 1, 0);
    answer(nodes[1], 1, 0);
    answer(nodes[2], 2, 0);  // an epoch that does not exist
    EXPECT_TRUE(take<CommitView>().empty());
    answer(nodes[2], 1, 0);
    EXPECT_EQ(take<CommitView>().at(0).to.size(), 3U);
}

TEST_F(CoreViewsTest, GoOnFromTheLastRoundThatAnyNodeHasCommitted) {
    const auto nodes = start(reducing(4));
    answer_views(false);
    clear();
    send(from(nodes[3], WorkerLeave{1, 3, false}));
    // The node whose members have left is asked too: it may be the only one with the last round.
    EXPECT_EQ(take<PrepareView>().size(), 4U);
    answer(nodes[0], 2, 6);
    answer(nodes[1], 2, 7);
    answer(nodes[2], 2, 6);
    answer(nodes[3], 2, 7);
    const auto views = take<CommitView>();
    ASSERT_EQ(views.size(), 1U);
    ASSERT_EQ(views[0].to.size(), 3U);
    EXPECT_EQ(views[0].base_round, 7U);
    EXPECT_EQ(views[0].donor, nodes[1]);
    EXPECT_EQ(views[0].behind, (std::vector<NodeId>{nodes[0], nodes[2]}));
    EXPECT_EQ(ranks_of(views[0]), (Ranks{0, 1, 2}));
}

// The controller that excluded a node died before its journal had the record, and the next one
// took the node back as a member.
TEST_F(CoreViewsTest, LeaveOutMembersWhoseModelsLackRounds) {
    const auto nodes = start(reducing(4));
    answer_views(false);
    clear();
    send(from(nodes[3], WorkerLeave{1, 3, false}));
    answer(nodes[0], 2, 371);
    answer(nodes[1], 2, 183);
    answer(nodes[2], 2, 370);
    answer(nodes[3], 2, 371);
    const auto suspended = sent<WorkerSuspended>();
    ASSERT_EQ(suspended.size(), 1U);
    EXPECT_EQ(suspended[0].rank, 1U);
    const auto views = take<CommitView>();
    ASSERT_EQ(views.size(), 1U);
    EXPECT_EQ(views[0].behind, (std::vector<NodeId>{nodes[2]}));
    EXPECT_EQ(ranks_of(views[0]), (Ranks{0, 2}));
}

// The third node was not in view 2, over which the others have repeated the round that it had
// begun.
TEST_F(CoreViewsTest, GiveARoundsResultToThoseAloneThatTookPartInIt) {
    const auto nodes = start(reducing(4));
    answer_views(false);
    clear();
    send(from(nodes[3], WorkerLeave{1, 3, false}));
    answer(nodes[0], 2, 7, 2, 2);
    answer(nodes[1], 2, 6, 2, 1);
    answer(nodes[2], 2, 6, 1, 1);
    answer(nodes[3], 2, 7, 2, 2);
    const auto views = take<CommitView>();
    ASSERT_EQ(views.size(), 1U);
    EXPECT_EQ(views[0].base_round, 7U);
    EXPECT_EQ(views[0].donor, nodes[0]);
    EXPECT_EQ(views[0].behind, (std::vector<NodeId>{nodes[1]}));
}

// The first node joined the job after that round.
TEST_F(CoreViewsTest, NameADonorThatHasTheResult) {
    const auto nodes = start(reducing(4));
    answer_views(false);
    clear();
    send(from(nodes[3], WorkerLeave{1, 3, false}));
    answer(nodes[0], 2, 7, 0, 0);
    answer(nodes[1], 2, 7);
    answer(nodes[2], 2, 6);
    answer(nodes[3], 2, 6);
    const auto views = take<CommitView>();
    ASSERT_EQ(views.size(), 1U);
    EXPECT_EQ(views[0].donor, nodes[1]);
    EXPECT_EQ(views[0].behind, (std::vector<NodeId>{nodes[2], nodes[3]}));
}

// All workers of the job had died, and it began anew on another node.
TEST_F(CoreViewsTest, DoNotCountRoundsThatANodeOutsideTheViewRemembers) {
    const auto nodes = start(reducing(2));
    send(from(nodes[1], WorkerLeave{1, 1, false}));
    join(nodes[1], 1, reducing(2));
    answer_views(false);
    clear();
    send(from(nodes[1], WorkerAdmit{1, 1, true}));
    const uint64_t epoch = take<PrepareView>().at(0).epoch;
    answer(nodes[0], epoch, 10, epoch - 1, epoch - 1);
    answer(nodes[1], epoch, 550);
    const auto views = take<CommitView>();
    ASSERT_EQ(views.size(), 1U);
    EXPECT_EQ(views[0].base_round, 10U);
    EXPECT_EQ(views[0].donor, nodes[0]);
}

TEST_F(CoreViewsTest, ListNobodyAsBehindWhenNobodyHasTheResult) {
    const auto nodes = start(reducing(3));
    answer_views(false);
    clear();
    send(from(nodes[2], WorkerLeave{1, 2, false}));
    answer(nodes[0], 2, 7, 1, 0);
    answer(nodes[1], 2, 6);
    answer(nodes[2], 2, 6);
    const auto views = take<CommitView>();
    ASSERT_EQ(views.size(), 1U);
    EXPECT_EQ(views[0].base_round, 7U);
    EXPECT_TRUE(views[0].behind.empty());
}

TEST_F(CoreViewsTest, TellADonorThatHasLeftSoThatItGivesTheLastRound) {
    const auto nodes = start(reducing(3));
    answer_views(false);
    send(from(nodes[2], WorkerLeave{1, 2, true}));
    clear();
    answer(nodes[0], 2, 6);
    answer(nodes[1], 2, 6);
    answer(nodes[2], 2, 7);
    const auto views = take<CommitView>();
    ASSERT_EQ(views.size(), 1U);
    ASSERT_EQ(views[0].to.size(), 3U);
    EXPECT_EQ(views[0].to[2], nodes[2]);
    EXPECT_EQ(views[0].donor, nodes[2]);
    EXPECT_EQ(views[0].behind, (std::vector<NodeId>{nodes[0], nodes[1]}));
    EXPECT_EQ(ranks_of(views[0]), (Ranks{0, 1}));
}

// All but the slowest worker have left after the last round. The view changes once more before the
// slowest one's node has fetched the result.
TEST_F(CoreViewsTest, AskNodesThatHaveLeftAsLongAsTheirResultIsMissing) {
    const auto nodes = start(reducing(4));
    const uint64_t token = sent<JoinAccepted>()[0].token;
    answer_views(false);
    for (const Rank rank : {1U, 2U}) send(from(nodes[rank], WorkerLeave{1, rank, true}));
    const auto keeps = [&](NodeId node) { send(from(node, JobKept{1, token, false, false})); };
    for (uint64_t epoch = 2; epoch <= 3; ++epoch) {
        clear();
        answer(nodes[0], epoch, 6);
        answer(nodes[1], epoch, 7);
        answer(nodes[2], epoch, 7);
        answer(nodes[3], epoch, 6);
        const auto views = take<CommitView>();
        ASSERT_EQ(views.size(), 1U);
        EXPECT_EQ(views[0].donor, nodes[1]);
        EXPECT_EQ(views[0].behind, (std::vector<NodeId>{nodes[0], nodes[3]}));
        for (const Rank rank : {1U, 2U}) keeps(nodes[rank]);
        EXPECT_TRUE(take<PartEnded>().empty());
        if (epoch == 2) send(from(nodes[3], Stalled{1, {}}));
    }
    // All have the result now.
    send(from(nodes[3], WorkerLeave{1, 3, true}));
    EXPECT_EQ(take<PrepareView>().size(), 4U);
    for (const NodeId node : nodes) answer(node, 4, 7);
    EXPECT_TRUE(take<CommitView>().at(0).behind.empty());
    keeps(nodes[1]);
    EXPECT_EQ(take<PartEnded>().size(), 1U);
    send(from(nodes[0], Stalled{1, {}}));
    EXPECT_EQ(take<PrepareView>().size(), 1U);
}

TEST_F(CoreViewsTest, AskNodesThatHaveLeftNoMoreOnceNobodyIsLeftWhoLacksTheirResult) {
    const auto nodes = start(reducing(3));
    answer_views(false);
    send(from(nodes[1], WorkerLeave{1, 1, true}));
    answer(nodes[0], 2, 6);
    answer(nodes[1], 2, 7);
    answer(nodes[2], 2, 7);
    clear();
    send(from(nodes[0], WorkerLeave{1, 0, false}));
    EXPECT_EQ(take<PrepareView>().size(), 3U);
    answer(nodes[0], 3, 6);
    answer(nodes[1], 3, 7);
    answer(nodes[2], 3, 7);
    clear();
    send(from(nodes[2], Stalled{1, {}}));
    EXPECT_EQ(take<PrepareView>().size(), 1U);
}

// The top-k residuals of leaving nodes go to nodes that stay.
TEST_F(CoreViewsTest, TellNodesThatTheyLackIfThoseMayOweSomething) {
    JobOptions options = reducing(3);
    options.compression = Compression::spardl;
    const auto nodes = start(options);
    const uint64_t token = sent<JoinAccepted>()[0].token;
    clear();
    send(from(nodes[2], WorkerLeave{1, 2, true}));
    auto views = take<CommitView>();
    ASSERT_EQ(views.size(), 1U);
    ASSERT_EQ(views[0].to.size(), 3U);
    EXPECT_EQ(views[0].leavers, (std::vector<NodeId>{nodes[2]}));
    EXPECT_EQ(ranks_of(views[0]), (Ranks{0, 1}));
    // A node that is in no view reports its residuals; it is told once.
    send(from(nodes[2], JobKept{1, token, false, true}));
    views = take<CommitView>();
    ASSERT_EQ(views.size(), 1U);
    EXPECT_EQ(views[0].leavers, (std::vector<NodeId>{nodes[2]}));
    send(from(nodes[1], WorkerLeave{1, 1, true}));
    EXPECT_EQ(take<CommitView>().at(0).leavers, (std::vector<NodeId>{nodes[1]}));
}

TEST_F(CoreViewsTest, BeginAnewWhenTwoOfTheirNodesLoseEachOther) {
    const auto nodes = start(reducing(3));
    clear();
    send(from(nodes[0], PeerLost{nodes[1], "reset"}));
    const auto views = take<CommitView>();
    ASSERT_EQ(views.size(), 1U);
    ASSERT_EQ(views[0].to.size(), 3U);
    EXPECT_EQ(views[0].epoch, 2U);
    EXPECT_EQ(ranks_of(views[0]), (Ranks{0, 1, 2}));
}

TEST_F(CoreViewsTest, BeginAnewWhenOneOfTheirNodesCannotGoOn) {
    const auto nodes = start(reducing(3));
    const NodeId stranger = attach("stranger");
    clear();
    send(from(stranger, Stalled{1, {}}));
    EXPECT_TRUE(take<CommitView>().empty());
    send(from(nodes[1], Stalled{1, {}}));
    const auto views = take<CommitView>();
    ASSERT_EQ(views.size(), 1U);
    EXPECT_EQ(views[0].epoch, 2U);
    EXPECT_EQ(ranks_of(views[0]), (Ranks{0, 1, 2}));
}

TEST_F(CoreViewsTest, LeaveOutAWorkerThatIsLostWhileTheyChange) {
    const auto nodes = start(reducing(4));
    answer_views(false);
    clear();
    send(from(nodes[3], WorkerLeave{1, 3, false}));
    answer(nodes[0], 2, 0);
    send(from(nodes[0], WorkerLeave{1, 0, false}));
    for (const NodeId node : {nodes[1], nodes[2], nodes[3]}) answer(node, 2, 0);
    const auto views = take<CommitView>();
    ASSERT_EQ(views.size(), 1U);
    ASSERT_EQ(views[0].to.size(), 2U);
    EXPECT_EQ(views[0].epoch, 2U);
    EXPECT_EQ(ranks_of(views[0]), (Ranks{1, 2}));
}

// A node is lost after any number of the others, and perhaps itself, have answered.
TEST_F(CoreViewsTest, RestartUnderAHigherEpochWhenANodeIsLostAtAnyPoint) {
    for (size_t answered = 0; answered < 4; ++answered) {
        for (size_t lost = 0; lost < 4; ++lost) {
            CoreFixture f;
            const auto nodes = f.start(reducing(5));
            f.answer_views(false);
            f.send(from(nodes[4], WorkerLeave{1, 4, true}));
            f.clear();
            for (size_t i = 0; i < answered; ++i) f.send(from(nodes[i], ViewPrepared{1, 2, 1}));
            f.send(NodeLost{nodes[lost], "test"});
            const auto asked = f.take<PrepareView>();
            ASSERT_EQ(asked.size(), 4U);
            EXPECT_EQ(asked[0].epoch, 3U);
            for (const NodeId node : nodes)
                f.send(from(node, ViewPrepared{1, 2, 9}));  // late answers
            EXPECT_TRUE(f.take<CommitView>().empty());
            for (const auto& prepare : asked)
                f.send(from(prepare.to.front(), ViewPrepared{1, 3, 1}));
            const auto views = f.take<CommitView>();
            ASSERT_EQ(views.size(), 1U);
            ASSERT_EQ(views[0].to.size(), 3U);
            EXPECT_EQ(views[0].members.size(), 3U);
            EXPECT_EQ(views[0].base_round, 1U);
        }
    }
}

TEST_F(CoreViewsTest, ExcludeANodeThatNeverAnswersThoughItLives) {
    const auto nodes = start(reducing(3));
    answer_views(false);
    send(from(nodes[2], WorkerLeave{1, 2, true}));
    answer(nodes[0], 2, 0);
    answer(nodes[2], 2, 0);
    clear();
    pass_hearing(seconds(11), nodes);
    const auto excluded = sent<Excluded>();
    ASSERT_FALSE(excluded.empty());
    EXPECT_EQ(excluded[0].node, nodes[1]);
}

TEST_F(CoreViewsTest, SuspendAStoppedWorkerOnWhichARoundWaitsAndTakeItBack) {
    const auto nodes = start(reducing(3));
    const auto beat = [&](bool stopped) {
        for (Rank rank = 0; rank < 3; ++rank) {
            send(from(nodes[rank],
                      Heartbeat{{{1, rank, 0, rank == 1 ? 4U : 5U, 0, rank == 1 && stopped}}}));
        }
    };
    clear();
    for (int i = 0; i < 19; ++i) {
        beat(true);
        pass_hearing(milliseconds(100), nodes);
    }
    EXPECT_TRUE(sent<WorkerSuspended>().empty());
    pass_hearing(milliseconds(200), nodes);
    beat(true);
    const auto suspended = sent<WorkerSuspended>();
    ASSERT_EQ(suspended.size(), 1U);
    EXPECT_EQ(suspended[0].rank, 1U);
    EXPECT_EQ(ranks_of(take<CommitView>()[0]), (Ranks{0, 2}));
    EXPECT_EQ(status_of(1), WorkerStatus::suspended);
    beat(false);
    send(from(nodes[1], WorkerAdmit{1, 1, false}));
    EXPECT_EQ(ranks_of(take<CommitView>()[0]), (Ranks{0, 1, 2}));
}

TEST_F(CoreViewsTest, DoNotSuspendAStoppedWorkerThatNobodyWaitsFor) {
    const auto nodes = start(reducing(2));
    clear();
    for (int i = 0; i < 50; ++i) {
        for (Rank rank = 0; rank < 2; ++rank)
            send(from(nodes[rank], Heartbeat{{{1, rank, 0, 5, 1, rank == 1}}}));
        pass_hearing(milliseconds(100), nodes);
    }
    EXPECT_TRUE(take<WorkerSuspended>().empty());
}

TEST_F(CoreViewsTest, SuspendAWorkerThatComputesLongerThanItsTimeout) {
    JobOptions options = reducing(2);
    options.worker_timeout_ms = 700;
    const auto nodes = start(options);
    send(from(nodes[0], Heartbeat{{{1, 0, 0, 5, 0, false}}}));
    send(from(nodes[1], Heartbeat{{{1, 1, 0, 4, 700, false}}}));
    EXPECT_TRUE(take<WorkerSuspended>().empty());
    send(from(nodes[1], Heartbeat{{{1, 1, 0, 4, 701, false}}}));
    EXPECT_EQ(take<WorkerSuspended>().size(), 1U);
}

TEST_F(CoreViewsTest, WaitAtLeastThirtySecondsWithoutATimeout) {
    const auto nodes = start(reducing(2));
    send(from(nodes[0], Heartbeat{{{1, 0, 0, 5, 0, false}}}));
    send(from(nodes[1], Heartbeat{{{1, 1, 0, 4, 29'999, false}}}));
    EXPECT_TRUE(take<WorkerSuspended>().empty());
    send(from(nodes[1], Heartbeat{{{1, 1, 0, 4, 30'001, false}}}));
    EXPECT_EQ(take<WorkerSuspended>().size(), 1U);
}

}  // namespace
}  // namespace pace::controller
