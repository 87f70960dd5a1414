// Core restart: the controller dies and comes back, with and without its journal.
#include <gtest/gtest.h>

#include "service/controller/core/tests/core_fixture.h"

namespace pace::controller {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class CoreRestartTest : public ::testing::Test, public CoreFixture {
  protected:
    void restart_with_journal() {
        restart();
        replay_journal();
        clear();
    }
};

TEST_F(CoreRestartTest, GathersItsMembersAndGoesOnWithAllOfThem) {
    const auto nodes = start(averaging(3, 2));
    restart_with_journal();
    EXPECT_TRUE(job().gathering);
    for (Rank rank = 0; rank < 3; ++rank) {
        EXPECT_EQ(attach("node" + std::to_string(rank)),
                  nodes[rank]);  // ids outlive the controller
        send(NodeHeard{nodes[rank]});
        resume(nodes[rank], rank, averaging(3, 2), 1);
        if (rank == 0) send(from(nodes[0], Ready{1, 0, 6, 7}));
        if (rank == 1) send(from(nodes[1], Ready{1, 1, 6, 7}));
        if (rank < 2) {
            EXPECT_TRUE(sent<GroupOrder>().empty());
        }
    }
    for (const JoinAccepted& accepted : sent<JoinAccepted>()) EXPECT_FALSE(accepted.under_way);
    EXPECT_EQ(sent<GroupOrder>().size(), 1U);
    const auto views = take<CommitView>();
    ASSERT_EQ(views.size(), 1U);
    ASSERT_EQ(views[0].to.size(), 3U);
    EXPECT_EQ(views[0].epoch, 2U);
    EXPECT_EQ(views[0].members.size(), 3U);
    EXPECT_FALSE(job().gathering);
}

TEST_F(CoreRestartTest, DropsMembersThatDoNotComeBackInTime) {
    start(averaging(3, 2));
    restart_with_journal();
    const NodeId a = attach("node0");
    resume(a, 0, averaging(3, 2), 1);
    pass_hearing(milliseconds(1900), {a});
    EXPECT_TRUE(sent<CommitView>().empty());
    pass_hearing(milliseconds(200), {a});
    // Returning workers may have operations under way with the missing nodes.
    EXPECT_EQ(sent<NodeGone>().size(), 2U);
    EXPECT_EQ(take<CommitView>().at(0).members.size(), 1U);
    // A member that comes too late is a newcomer.
    const NodeId b = attach("node1");
    clear();
    resume(b, 1, averaging(3, 2), 1);
    EXPECT_TRUE(take<JoinAccepted>().at(0).under_way);
}

TEST_F(CoreRestartTest, TakesTheNodesIdsFromTheirDaemonsIfTheJournalIsLost) {
    restart();
    EXPECT_EQ(attach("c", 3), 3U);
    EXPECT_EQ(attach("a", 1), 1U);
    EXPECT_EQ(attach("new"), 4U);
    EXPECT_EQ(attach("b", 2), 2U);
    // One id is taken, the other larger than any that a controller gives.
    EXPECT_EQ(attach("d", 3), 5U);
    EXPECT_EQ(attach("e", ~NodeId{0}), 6U);
    // An id given in this life stays.
    EXPECT_EQ(attach("a", 7), 1U);
}

// A controller that is killed has sent more than it has journalled.
TEST_F(CoreRestartTest, GoesOnWithAllMembersHoweverMuchOfTheJournalIsLost) {
    size_t records = 1;
    for (size_t kept = 0; kept <= records; ++kept) {
        CoreFixture f;
        const auto nodes = f.start(reducing(4), 2);
        f.send(from(nodes[1], WorkerLeave{1, 3, false}));
        f.join(nodes[1], 3, reducing(4));
        f.send(from(nodes[1], WorkerAdmit{1, 3, true}));
        const uint64_t epoch = f.job().epoch;
        ASSERT_EQ(epoch, 3U);
        records = f.journal().size();

        f.restart();
        f.replay_journal(kept);
        f.clear();
        for (const NodeId node : {nodes[1], nodes[0]})
            ASSERT_EQ(f.attach("node" + std::to_string(node == nodes[1]), node), node);
        for (const Rank rank : {3U, 2U, 0U, 1U})
            f.resume(nodes[rank / 2], rank, reducing(4), epoch);
        for (const JoinAccepted& accepted : f.sent<JoinAccepted>())
            EXPECT_FALSE(accepted.under_way) << kept << " of " << records;
        const auto views = f.take<CommitView>();
        ASSERT_FALSE(views.empty()) << kept << " of " << records;
        EXPECT_EQ(views.back().members.size(), 4U);
        EXPECT_GT(views.back().epoch, epoch);
    }
}

// Whether the rank, and no other, was told that the job went on without it.
bool is_only_told(CoreFixture& f, Rank rank) {
    bool told = false;
    bool others = false;
    for (const JoinAccepted& accepted : f.sent<JoinAccepted>())
        (accepted.rank == rank ? told : others) |= accepted.under_way;
    for (const WorkerSuspended& suspended : f.sent<WorkerSuspended>())
        (suspended.rank == rank ? told : others) = true;
    return told && !others;
}

// The new trainer's predecessor died with the controller, and the new one is there before any
// member is back.
TEST_F(CoreRestartTest, KeepsTheMembersModelsFromANewTrainerThatIsFasterHoweverMuchIsLost) {
    size_t records = 1;
    for (size_t kept = 0; kept <= records; ++kept) {
        CoreFixture f;
        const auto nodes = f.start(reducing(3));
        records = f.journal().size();
        f.restart();
        f.replay_journal(kept);
        f.clear();
        ASSERT_EQ(f.attach("node2", nodes[2]), nodes[2]);
        f.join(nodes[2], 2, reducing(3));
        const bool is_to_wait = !f.sent<JoinRefused>().empty();
        for (const Rank rank : {0U, 1U}) {
            ASSERT_EQ(f.attach("node" + std::to_string(rank), nodes[rank]), nodes[rank]);
            f.resume(nodes[rank], rank, reducing(3), 1);
        }
        if (is_to_wait) f.join(nodes[2], 2, reducing(3));
        EXPECT_TRUE(is_only_told(f, 2)) << kept << " of " << records;
        // This includes nodes that were told another token, and have nobody to join.
        const uint64_t token = f.sent<JoinAccepted>().back().token;
        for (const PrepareView& prepare : f.sent<PrepareView>()) EXPECT_EQ(prepare.token, token);
        auto views = f.take<CommitView>();
        ASSERT_FALSE(views.empty()) << kept << " of " << records;
        EXPECT_EQ(views.back().members.size(), 2U);

        f.send(from(nodes[2], WorkerAdmit{1, 2, true}));
        views = f.take<CommitView>();
        ASSERT_FALSE(views.empty()) << kept << " of " << records;
        EXPECT_EQ(views.back().members.size(), 3U);
        ASSERT_EQ(views.back().adoptions.size(), 1U);
        EXPECT_EQ(views.back().adoptions[0].newcomer, 2U);
    }
}

TEST_F(CoreRestartTest, WaitsForTheFirstToComeBackHoweverLongItTakes) {
    start(averaging(2));
    restart_with_journal();
    pass(seconds(60));
    for (Rank rank = 0; rank < 2; ++rank) {
        resume(attach("node" + std::to_string(rank)), rank, averaging(2), 1);
    }
    EXPECT_EQ(take<CommitView>().at(0).members.size(), 2U);
}

TEST_F(CoreRestartTest, TakesANewTrainerOfAnOldRankForANewcomer) {
    start(averaging(2));
    restart_with_journal();
    const NodeId a = attach("node0");
    join(a, 0, averaging(2));
    EXPECT_EQ(take<JoinRefused>().at(0).error.kind, base::ErrorKind::no_controller)
        << "nobody knows yet whether the job goes on";
    resume(attach("node1"), 1, averaging(2), 1);
    clear();
    join(a, 0, averaging(2));
    EXPECT_TRUE(sent<JoinAccepted>().at(0).under_way);
    EXPECT_EQ(take<CommitView>().at(0).members.size(), 1U);
}

TEST_F(CoreRestartTest, MakesAJobThatHadNotStartedWaitForItsWorkersAgain) {
    const NodeId a = attach("a");
    join(a, 0, averaging(2));
    join(a, 1, averaging(2));
    restart();
    // Only the records up to the first join are left.
    for (size_t i = 0; i < 3; ++i) ASSERT_TRUE(core().replay(journal()[i]));
    core().replay_finished(now());
    clear();
    attach("a");
    resume(a, 0, averaging(2), 0);
    EXPECT_TRUE(sent<CommitView>().empty());
    resume(a, 1, averaging(2), 0);
    EXPECT_EQ(take<CommitView>().size(), 1U);
}

TEST_F(CoreRestartTest, RecoversARunningJobFromItsWorkersAloneWhenTheJournalIsLost) {
    start(averaging(3));
    restart();
    clear();
    std::vector<NodeId> nodes;
    for (Rank rank = 0; rank < 2; ++rank) {
        nodes.push_back(attach("node" + std::to_string(rank)));
        resume(nodes.back(), rank, averaging(3), 17);
    }
    pass_hearing(milliseconds(2100), nodes);
    const auto views = take<CommitView>();
    ASSERT_FALSE(views.empty());
    EXPECT_EQ(views[0].epoch, 18U);
    EXPECT_EQ(views[0].members.size(), 2U);
}

// Daemons say by its id what they keep of a job, and which of its workers are gone.
TEST_F(CoreRestartTest, AJobWhoseJournalIsLostHasTheIdAgainByWhichItsNodesKnowIt) {
    restart();
    const NodeId node = attach("node");
    const auto come_back = [&](const std::string& name, JobId known_as) {
        JobOptions options = averaging(2);
        options.name = name;
        WorkerJoin join{100, 0, options, 1000, true, 5, 3, 17};
        join.job = known_as;
        clear();
        send(from(node, join));
        return sent<JoinAccepted>().at(0).job;
    };
    EXPECT_EQ(come_back("one", 7), 7U);
    EXPECT_NE(come_back("another", 7), 7U) << "the id is in use";
    const JobId greatest = ~JobId{0};
    EXPECT_LT(come_back("strange", greatest - 1), greatest / 2);
    EXPECT_EQ(come_back("fresh", 0), 10U) << "the next that is free";
}

// A daemon and the controller's journal are lost together; the worker's session is left.
TEST_F(CoreRestartTest, TakesASessionThatAveragesOnForTheModelsOfNewWorkers) {
    restart();
    const NodeId one = attach("node0");
    const NodeId other = attach("node1");
    join(one, 0, averaging(2));
    WorkerJoin left{101, 1, averaging(2), 1000, false, 5, 1, 0};
    left.run.began = 12;
    clear();
    send(from(other, left));
    const auto suspended = sent<WorkerSuspended>();
    ASSERT_EQ(suspended.size(), 1U);
    EXPECT_EQ(suspended[0].rank, 0U);
    EXPECT_TRUE(sent<JoinAccepted>().at(0).under_way);
    EXPECT_TRUE(sent<PrepareView>().empty()) << "it is no first view of two members";
}

TEST_F(CoreRestartTest, NumbersItsGroupsAnew) {
    const auto group = [&](const std::vector<NodeId>& nodes) {
        send(from(nodes[0], Ready{1, 0, 1, 7}));
        send(from(nodes[1], Ready{1, 1, 1, 7}));
        return take<GroupOrder>().at(0).group;
    };
    const auto nodes = start(averaging(2));
    const GroupId first = group(nodes);
    restart_with_journal();
    for (Rank rank = 0; rank < 2; ++rank)
        resume(attach("node" + std::to_string(rank)), rank, averaging(2), 1);
    EXPECT_NE(group(nodes), first);
}

TEST_F(CoreRestartTest, ForgetsJobsThatHaveEnded) {
    const auto nodes = start(averaging(2));
    for (Rank rank = 0; rank < 2; ++rank) send(from(nodes[rank], WorkerLeave{1, rank, true}));
    restart_with_journal();
    EXPECT_TRUE(core().status(now()).jobs.empty());
}

// The controller did not run for so long that its daemons may have given it up. They attach again
// one after the other, and nobody becomes a newcomer.
TEST_F(CoreRestartTest, BeginsAnewWithAllItsMembersWithoutDying) {
    for (const JobOptions& options : {averaging(3), reducing(3)}) {
        CoreFixture f;
        const auto nodes = f.start(options);
        const uint64_t epoch = f.job().epoch;
        f.core().begin_anew(f.now());
        f.clear();
        EXPECT_TRUE(f.job().gathering);
        for (Rank rank = 0; rank < 3; ++rank) {
            EXPECT_EQ(f.attach("node" + std::to_string(rank)), nodes[rank]);
            f.resume(nodes[rank], rank, options, epoch);
        }
        for (const JoinAccepted& accepted : f.sent<JoinAccepted>())
            EXPECT_FALSE(accepted.under_way);
        const auto views = f.take<CommitView>();
        ASSERT_EQ(views.size(), 1U);
        EXPECT_EQ(views[0].members.size(), 3U);
        EXPECT_GT(views[0].epoch, epoch);
    }
}

TEST_F(CoreRestartTest, CanCompactItsJournal) {
    const auto nodes = start(averaging(4), 2);
    for (int i = 0; i < 10; ++i) {
        send(from(nodes[0], WorkerLeave{1, 1, false}));
        join(nodes[0], 1, averaging(4));
        send(from(nodes[0], WorkerAdmit{1, 1, false}));
    }
    send(from(nodes[1], WorkerLeave{1, 3, true}));
    const auto records = core().journal_snapshot();
    EXPECT_LT(records.size(), journal().size());
    const uint64_t epoch = job().epoch;
    restart();
    for (const auto& record : records) ASSERT_TRUE(core().replay(record));
    core().replay_finished(now());
    EXPECT_EQ(job().epoch, epoch);
    EXPECT_EQ(status_of(1), WorkerStatus::missing);
    EXPECT_EQ(status_of(3), WorkerStatus::left);
}

}  // namespace
}  // namespace pace::controller
