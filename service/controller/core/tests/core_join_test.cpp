// Core join: joining, leaving, and all reasons for refusing a join.
#include <gtest/gtest.h>

#include "service/controller/core/tests/core_fixture.h"

namespace pace::controller {
namespace {

using base::ErrorKind;

class CoreJoinTest : public ::testing::Test, public CoreFixture {
  protected:
    base::Error refusal() {
        const auto refused = take<JoinRefused>();
        return refused.size() == 1 ? refused[0].error
                                   : base::Error{ErrorKind::internal, "not refused"};
    }
};

TEST_F(CoreJoinTest, IntroducesNodesToEachOther) {
    const NodeId a = attach("a");
    clear();
    const NodeId b = attach("b");
    const auto known = take<NodeKnown>();
    ASSERT_EQ(known.size(), 2U);
    EXPECT_EQ(known[0].to, std::vector<NodeId>{a});
    EXPECT_EQ(known[0].node, b);
    EXPECT_EQ(known[1].to, std::vector<NodeId>{b});
    EXPECT_EQ(known[1].node, a);
}

TEST_F(CoreJoinTest, FillsInTheJobsOptionsAndGivesAllItsWorkersOneToken) {
    const NodeId a = attach("a");
    join(a, 0, averaging(2));
    join(a, 1, averaging(2));
    const auto accepted = take<JoinAccepted>();
    ASSERT_EQ(accepted.size(), 2U);
    EXPECT_EQ(protocol::read_options(accepted[0].options).value().group_size, 2U);
    EXPECT_EQ(accepted[0].token, accepted[1].token);
    EXPECT_NE(accepted[0].token, 0U);
    EXPECT_FALSE(accepted[1].under_way);
    EXPECT_EQ(accepted[1].request, 101U);
}

TEST_F(CoreJoinTest, RefusesOptionsThatMakeNoSense) {
    join(attach("a"), 0, averaging(3, 1));
    EXPECT_EQ(refusal().kind, ErrorKind::invalid);
}

// run.min_workers 2 of 4, which wait a second for the others.
JobOptions elastic() {
    JobOptions options = averaging(4);
    options.min_workers = 2;
    options.min_workers_wait_ms = 1000;
    return options;
}

TEST_F(CoreJoinTest, BeginsWithFewerWorkersWhenTheOthersDoNotCome) {
    const NodeId a = attach("a");
    join(a, 0, elastic());
    EXPECT_FALSE(job().started);
    join(a, 2, elastic());
    EXPECT_FALSE(job().started);
    pass(std::chrono::milliseconds(999));
    EXPECT_FALSE(job().started);
    clear();
    pass(std::chrono::milliseconds(1));
    EXPECT_TRUE(job().started);
    const auto views = take<CommitView>();
    ASSERT_EQ(views.size(), 1U);
    ASSERT_EQ(views[0].members.size(), 2U);
    EXPECT_EQ(views[0].members[1].rank, 2U);
    join(a, 1, elastic());
    EXPECT_EQ(status_of(1), WorkerStatus::newcomer);
}

TEST_F(CoreJoinTest, ThoseWhoAreEnoughDoNotWaitWhenAllAreThere) {
    const NodeId a = attach("a");
    for (Rank rank = 0; rank < 4; ++rank) join(a, rank, elastic());
    EXPECT_TRUE(job().started);
    EXPECT_NE(status_of(3), WorkerStatus::newcomer);
}

TEST_F(CoreJoinTest, WhoHasLeftDoesNotCountForTheStart) {
    const NodeId a = attach("a");
    join(a, 0, elastic());
    join(a, 1, elastic());
    send(from(a, WorkerLeave{1, 1, true}));
    pass_hearing(std::chrono::seconds(5), {a});
    EXPECT_FALSE(job().started);
    join(a, 1, elastic());
    pass_hearing(std::chrono::seconds(1), {a});
    EXPECT_TRUE(job().started);
}

TEST_F(CoreJoinTest, RefusesAStartThatCanNeverBe) {
    JobOptions options = elastic();
    options.min_workers = 5;
    join(attach("a"), 0, options);
    EXPECT_EQ(refusal().message,
              "run.min_workers is 5; use 1 to world, which is 4: more can never be there");
}

TEST_F(CoreJoinTest, RefusesARankOutsideTheWorld) {
    join(attach("a"), 3, averaging(3));
    const base::Error error = refusal();
    EXPECT_EQ(error.kind, ErrorKind::invalid);
    EXPECT_EQ(error.message, "rank is 3; in a world of 3 use 0 to 2");
}

TEST_F(CoreJoinTest, RefusesARankThatIsHeldAndNamesTheNode) {
    const NodeId a = attach("a");
    join(a, 0, averaging(3));
    clear();
    join(attach("b"), 0, averaging(3));
    const base::Error error = refusal();
    EXPECT_EQ(error.kind, ErrorKind::taken);
    EXPECT_NE(error.message.find("'a'"), std::string::npos);
}

TEST_F(CoreJoinTest, RefusesOtherOptionsAndListsEachDifference) {
    const NodeId a = attach("a");
    join(a, 0, averaging(3));
    clear();
    join(a, 1, averaging(4, 4));
    const base::Error error = refusal();
    EXPECT_EQ(error.kind, ErrorKind::mismatch);
    EXPECT_NE(error.message.find("world 4 (the job has 3), group.size 4 (the job has 3)"),
              std::string::npos);
}

TEST_F(CoreJoinTest, RefusesAnotherUsersJob) {
    const NodeId a = attach("a");
    join(a, 0, averaging(3));
    clear();
    send(from(a, WorkerJoin{1, 1, averaging(3), 1001, false, 0, 0, 0}));
    EXPECT_EQ(refusal().kind, ErrorKind::denied);
    send(from(a, JobCreate{2, averaging(3), 1001}));
    EXPECT_EQ(refusal().kind, ErrorKind::denied);
    send(from(a, JobCreate{3, averaging(3), 1000}));
    EXPECT_EQ(refusal().kind, ErrorKind::taken);
}

TEST_F(CoreJoinTest, CreatesAJobWithoutWorkersThatWorkersThenJoin) {
    const NodeId a = attach("a");
    send(from(a, JobCreate{9, averaging(1), 1000}));
    const auto created = take<JoinAccepted>();
    ASSERT_EQ(created.size(), 1U);
    EXPECT_EQ(created[0].rank, kNoRank);
    join(a, 0, averaging(1));
    const auto joined = take<JoinAccepted>();
    ASSERT_EQ(joined.size(), 1U);
    EXPECT_EQ(joined[0].job, created[0].job);
    EXPECT_EQ(joined[0].token, created[0].token);
}

TEST_F(CoreJoinTest, EndsAJobWhenAllHaveLeftInOrder) {
    const auto nodes = start(averaging(2));
    send(from(nodes[0], WorkerLeave{1, 0, true}));
    EXPECT_EQ(core().status(now()).jobs.size(), 1U);
    send(from(nodes[1], WorkerLeave{1, 1, true}));
    EXPECT_TRUE(core().status(now()).jobs.empty());
    clear();
    join(nodes[0], 0, averaging(5));  // the name is free again
    EXPECT_EQ(take<JoinAccepted>().size(), 1U);
}

TEST_F(CoreJoinTest, AnswersALeaveThatAsksForItWhenTheRankIsFree) {
    const auto nodes = start(averaging(3));
    clear();
    send(from(nodes[0], WorkerLeave{1, 0, true}));
    EXPECT_TRUE(take<WorkerLeft>().empty());
    send(from(nodes[1], WorkerLeave{1, 1, true, 70}));
    send(from(nodes[1], WorkerLeave{1, 1, true, 71}));  // repeated after a reconnection
    send(from(nodes[1], WorkerLeave{9, 1, true, 72}));  // of a job that has ended
    const auto left = take<WorkerLeft>();
    ASSERT_EQ(left.size(), 3U);
    for (size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(left[i].to.front(), nodes[1]);
        EXPECT_EQ(left[i].request, 70 + i);
    }
    join(nodes[0], 1, averaging(3));
    EXPECT_EQ(take<JoinAccepted>().size(), 1U);
}

TEST_F(CoreJoinTest, KeepsAJobWhoseWorkersDiedForAWhile) {
    const auto nodes = start(averaging(2));
    send(from(nodes[0], WorkerLeave{1, 0, true}));
    send(from(nodes[1], WorkerLeave{1, 1, false}));
    pass_hearing(std::chrono::minutes(9), nodes);
    EXPECT_EQ(core().status(now()).jobs.size(), 1U);
    pass_hearing(std::chrono::minutes(2), nodes);
    EXPECT_TRUE(core().status(now()).jobs.empty());
}

TEST_F(CoreJoinTest, LetsAWorkerThatDiedJoinAgainFromAnyNode) {
    const auto nodes = start(averaging(3));
    send(from(nodes[2], WorkerLeave{1, 2, false}));
    clear();
    join(nodes[0], 2, averaging(3));
    const auto accepted = take<JoinAccepted>();
    ASSERT_EQ(accepted.size(), 1U);
    EXPECT_TRUE(accepted[0].under_way);
    EXPECT_EQ(status_of(2), WorkerStatus::newcomer);
}

TEST_F(CoreJoinTest, IgnoresNonsense) {
    const auto nodes = start(averaging(3));
    clear();
    for (const JobId job : {0U, 1U, 77U}) {
        for (const NodeId node : {0U, nodes[0], 99U}) {
            for (const Rank rank : {1U, 3U, kNoRank}) {
                send(from(node, WorkerLeave{job, rank, false}));
                send(from(node, WorkerAdmit{job, rank, true}));
                send(from(node, Withdraw{job, rank}));
                send(from(node, Ready{job, rank, 1, 1}));
                send(from(node, GroupDone{job, 5, true, 0, 0}));
                send(from(node, ViewPrepared{job, 7, 7}));
                send(from(node, Stalled{job, {0, 99, node}}));
                send(from(node, Heartbeat{{{job, rank, 1, ~uint64_t{0}, ~uint64_t{0}, true}}}));
            }
        }
    }
    send(from(0, PeerLost{99, ""}));
    send(from(nodes[0], PeerLost{nodes[0], ""}));
    send(NodeLost{99, ""});
    EXPECT_TRUE(take<GroupOrder>().empty());
    EXPECT_EQ(job().epoch, 1U);
}

}  // namespace
}  // namespace pace::controller
