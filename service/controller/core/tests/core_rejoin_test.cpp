// Core rejoin: workers that come back: what their models lack, their donors, and what they are told
// if there is no donor.
#include <gtest/gtest.h>

#include "service/controller/core/tests/core_fixture.h"

namespace pace::controller {
namespace {

using std::chrono::milliseconds;
using Adoptions = std::vector<Adoption>;

class CoreRejoinTest : public ::testing::Test, public CoreFixture {
  protected:
    static std::vector<Rank> ranks_of(const CommitView& view) {
        std::vector<Rank> ranks;
        for (const Member& member : view.members) ranks.push_back(member.rank);
        return ranks;
    }
    // The worker's trainer or daemon was restarted.
    void return_as_newcomer(NodeId node, Rank rank, const JobOptions& options) {
        send(from(node, WorkerLeave{1, rank, false}));
        join(node, rank, options);
        clear();
    }
};

using Ranks = std::vector<Rank>;

// The worker's daemon was restarted, so that it has no model; then the controller was.
TEST_F(CoreRejoinTest, TakesNoDonorWithoutAModelAlsoAfterTheControllersRestart) {
    const auto nodes = start(reducing(4), 2);
    complete_rounds(300);
    restart();
    replay_journal();
    for (Rank rank = 0; rank < 4; ++rank) {
        if (rank % 2 == 0) attach("node" + std::to_string(rank / 2), nodes[rank / 2]);
        resume(nodes[rank / 2], rank, reducing(4), 1);
    }
    return_as_newcomer(nodes[1], 3, reducing(4));
    without_model(nodes[1], {2, 3});
    send(from(nodes[1], WorkerAdmit{1, 3, true}));
    EXPECT_EQ(take<CommitView>().at(0).adoptions, (Adoptions{{3, 0}}));
}

TEST_F(CoreRejoinTest, TellsAWorkerThatDoesNotAskThatItLacksRounds) {
    const auto nodes = start(reducing(3));
    complete_rounds(298);
    return_as_newcomer(nodes[2], 2, reducing(3));
    send(from(nodes[2], WorkerAdmit{1, 2, false}));
    const auto suspended = sent<WorkerSuspended>();
    ASSERT_EQ(suspended.size(), 1U);
    EXPECT_EQ(suspended[0].rank, 2U);
    EXPECT_EQ(ranks_of(take<CommitView>().at(0)), (Ranks{0, 1}));
    // It asks for a model, as it was told.
    send(from(nodes[2], WorkerAdmit{1, 2, true}));
    const auto views = take<CommitView>();
    EXPECT_EQ(ranks_of(views.at(0)), (Ranks{0, 1, 2}));
    EXPECT_EQ(views[0].adoptions, (Adoptions{{2, 0}}));
}

TEST_F(CoreRejoinTest, LetsAWorkerInThatHasMissedNothing) {
    const auto nodes = start(reducing(3));
    return_as_newcomer(nodes[2], 2, reducing(3));
    send(from(nodes[2], WorkerAdmit{1, 2, false}));
    EXPECT_TRUE(sent<WorkerSuspended>().empty());
    EXPECT_EQ(ranks_of(take<CommitView>().at(0)), (Ranks{0, 1, 2}));
}

// All daemons were restarted: only the sessions know that rounds were made.
TEST_F(CoreRejoinTest, BelievesTheSessionsThatRoundsWereMade) {
    const auto nodes = start(reducing(2));
    for (Rank rank = 0; rank < 2; ++rank) {
        send(from(nodes[rank], WorkerLeave{1, rank, false}));
        send(from(nodes[rank],
                  WorkerJoin{9, rank, reducing(2), 1000, false, 40, rank == 0 ? 0U : 41U, 0}));
    }
    clear();
    for (Rank rank = 0; rank < 2; ++rank) send(from(nodes[rank], WorkerAdmit{1, rank, false}));
    EXPECT_EQ(take<WorkerSuspended>().size(), 2U);
}

TEST_F(CoreRejoinTest, LetsANewcomerWaitWithTheMembersForTheFirstModel) {
    const auto nodes = start(reducing(3));
    return_as_newcomer(nodes[2], 2, reducing(3));
    for (Rank rank = 0; rank < 3; ++rank) without_model(nodes[rank], {rank});
    send(from(nodes[2], WorkerAdmit{1, 2, true}));
    const auto views = take<CommitView>();
    EXPECT_EQ(ranks_of(views.at(0)), (Ranks{0, 1, 2}));
    EXPECT_EQ(views[0].adoptions, (Adoptions{{2, kNoRank}}));
}

TEST_F(CoreRejoinTest, TellsANewcomerThatNobodyHasAModelAndTakesItInWithItsOwn) {
    const auto nodes = start(reducing(3));
    for (Rank rank = 0; rank < 3; ++rank) without_model(nodes[rank], {rank});
    complete_rounds(7);
    return_as_newcomer(nodes[2], 2, reducing(3));
    for (int time = 0; time < 2; ++time) {
        send(from(nodes[2], WorkerAdmit{1, 2, true}));
        const auto told = sent<NoModel>();
        ASSERT_EQ(told.size(), 1U);
        EXPECT_EQ(told[0].to.front(), nodes[2]);
        EXPECT_EQ(told[0].rank, 2U);
        EXPECT_EQ(ranks_of(take<CommitView>().at(0)), (Ranks{0, 1}));
    }
    send(from(nodes[2], WorkerAdmit{1, 2, false, true}));
    EXPECT_TRUE(sent<WorkerSuspended>().empty());
    EXPECT_EQ(ranks_of(take<CommitView>().at(0)), (Ranks{0, 1, 2}));
}

// The only donor dies before it has given its model, and nobody else has a model.
TEST_F(CoreRejoinTest, TellsANewcomerThatItsDonorIsGoneIfNobodyElseHasAModel) {
    const auto nodes = start(reducing(3));
    without_model(nodes[1], {1});
    complete_rounds(7);
    return_as_newcomer(nodes[2], 2, reducing(3));
    without_model(nodes[2], {2});
    send(from(nodes[2], WorkerAdmit{1, 2, true}));
    EXPECT_EQ(take<CommitView>().at(0).adoptions, (Adoptions{{2, 0}}));
    send(NodeLost{nodes[0], "test"});
    EXPECT_EQ(sent<NoModel>().size(), 1U);
    EXPECT_EQ(ranks_of(take<CommitView>().at(0)), (Ranks{1}));
}

// Two workers that each kept their own model would differ from then on.
TEST_F(CoreRejoinTest, GivesNewcomersOneModelWhenNobodyElseIsThere) {
    const NodeId node = start(reducing(3), 3).front();
    for (Rank rank = 0; rank < 3; ++rank) {
        send(from(node, WorkerLeave{1, rank, false}));
        send(from(node, WorkerJoin{9, rank, reducing(3), 1000, false, rank == 1 ? 40U : 0U, 0, 0}));
    }
    without_model(node, {0, 1, 2});
    answer_views(false);
    clear();
    for (Rank rank = 0; rank < 3; ++rank) send(from(node, WorkerAdmit{1, rank, true}));
    const auto asked = take<PrepareView>();
    ASSERT_FALSE(asked.empty());
    answer_views(true);
    send(from(node, ViewPrepared{1, asked.back().epoch, 0, 0, 0, {}, 0, {0, 1, 2}}));
    const auto views = sent<CommitView>();
    ASSERT_FALSE(views.empty());
    EXPECT_EQ(ranks_of(views.back()), (Ranks{0, 1, 2}));
    // Rank 1 has made the most steps.
    EXPECT_EQ(views.back().adoptions, (Adoptions{{0, 1}, {2, 1}}));
}

// One worker opens anew at once. The other's session only reconnects, a moment later, and has the
// model.
TEST_F(CoreRejoinTest, WaitsForThoseWhoseDaemonWasLostBeforeANewTrainerBecomesTheFirst) {
    const NodeId node = attach("a");
    for (Rank rank = 0; rank < 2; ++rank) join(node, rank, averaging(2));
    send(NodeLost{node, "killed"});
    attach("a");
    join(node, 1, averaging(2));
    without_model(node, {1});
    clear();
    send(from(node, WorkerAdmit{1, 1, true}));
    EXPECT_TRUE(sent<CommitView>().empty());
    pass_hearing(milliseconds(100), {node});
    join(node, 0, averaging(2));
    send(from(node, Ready{1, 0, 41, 7}));
    const auto views = take<CommitView>();
    ASSERT_FALSE(views.empty());
    EXPECT_EQ(ranks_of(views[0]), (Ranks{0, 1}));
    EXPECT_EQ(views[0].adoptions, (Adoptions{{1, 0}}));
}

TEST_F(CoreRejoinTest, GoesOnWithoutThoseWhoDoNotComeBackWithTheirDaemon) {
    const NodeId node = attach("a");
    for (Rank rank = 0; rank < 2; ++rank) join(node, rank, averaging(2));
    send(NodeLost{node, "killed"});
    attach("a");
    join(node, 1, averaging(2));
    send(from(node, WorkerAdmit{1, 1, true}));
    clear();
    pass_hearing(milliseconds(1900), {node});
    EXPECT_TRUE(sent<CommitView>().empty());
    pass_hearing(milliseconds(200), {node});
    EXPECT_EQ(ranks_of(take<CommitView>().at(0)), (Ranks{1}));
}

// Both nodes are lost, and rank 0 is opened anew elsewhere. Node 1 was only cut off: its worker
// comes back with the model that it had.
class CoreSecondBeginningTest : public CoreRejoinTest {
  protected:
    void begin_anew() {
        begin_anew_with([this] { come_back(third_, 0, averaging(2)); });
    }
    // `open` has the node third_ announce rank 0.
    void begin_anew_with(const std::function<void()>& open) {
        const auto nodes = start(averaging(2));
        for (const NodeId node : nodes) send(NodeLost{node, "cut off"});
        third_ = attach("third");
        open();
        without_model(third_, {0});
        pass_hearing(milliseconds(3000), {third_});
        clear();
        send(from(third_, WorkerAdmit{1, 0, true}));
        const auto views = take<CommitView>();
        ASSERT_FALSE(views.empty());
        ASSERT_EQ(ranks_of(views.back()), (Ranks{0}));
        without_model(third_, {});
    }
    // A daemon announces, once more, a worker that was opened and has been in no view since.
    void announce_new(NodeId node, Rank rank) {
        auto event = from(node, WorkerJoin{rank + 100, rank, averaging(2), 1000, true, 0, 0, 0});
        event.is_new = true;
        send(event);
    }
    // Returns the node of the worker.
    NodeId come_back_from_before() {
        const NodeId node = attach("node1");
        resume(node, 1, averaging(2), 1);
        clear();
        send(from(node, WorkerAdmit{1, 1, false}));
        return node;
    }
    void expect_sent_away_until_it_asks(NodeId node) {
        const auto suspended = sent<WorkerSuspended>();
        ASSERT_EQ(suspended.size(), 1U);
        EXPECT_EQ(suspended[0].rank, 1U);
        EXPECT_NE(suspended[0].reason.find("begun anew"), std::string::npos);
        clear();
        send(from(node, WorkerAdmit{1, 1, true}));
        const auto views = take<CommitView>();
        ASSERT_FALSE(views.empty());
        EXPECT_EQ(ranks_of(views.back()), (Ranks{0, 1}));
        EXPECT_EQ(views.back().adoptions, (Adoptions{{1, 0}}));
    }

    NodeId third_ = 0;
};

TEST_F(CoreSecondBeginningTest, TakesNoModelOfBeforeIntoItsAverages) {
    begin_anew();
    const NodeId node = come_back_from_before();
    expect_sent_away_until_it_asks(node);
    // From then on it is a worker like any other.
    send(from(node, WorkerLeave{1, 1, false}));
    resume(node, 1, averaging(2), job().epoch);
    clear();
    send(from(node, WorkerAdmit{1, 1, false}));
    EXPECT_TRUE(sent<WorkerSuspended>().empty());
}

// The controller or the connection to it was lost before the worker's first call.
TEST_F(CoreSecondBeginningTest, ANewWorkerThatItsDaemonAnnouncesTwiceIsNotOfBefore) {
    begin_anew();
    const NodeId node = attach("node1");
    announce_new(node, 1);
    clear();
    send(from(node, WorkerAdmit{1, 1, false}));
    EXPECT_TRUE(sent<WorkerSuspended>().empty());
    EXPECT_EQ(ranks_of(take<CommitView>().at(0)), (Ranks{0, 1}));
}

TEST_F(CoreSecondBeginningTest, IsOneThoughTheDaemonHasAnnouncedTheNewWorkerTwice) {
    begin_anew_with([this] {
        come_back(third_, 0, averaging(2));
        send(NodeLost{third_, "cut off"});
        third_ = attach("third");
        announce_new(third_, 0);
    });
    expect_sent_away_until_it_asks(come_back_from_before());
}

// Its daemon does not know either whether it has a model of the job.
TEST_F(CoreSecondBeginningTest, IsNoneIfTheWorkersDaemonWasRestartedTwice) {
    begin_anew_with([this] { resume(third_, 0, averaging(2), 0); });
    const NodeId node = come_back_from_before();
    EXPECT_TRUE(sent<WorkerSuspended>().empty());
    EXPECT_EQ(ranks_of(take<CommitView>().at(0)), (Ranks{0, 1}));
    EXPECT_NE(node, third_);
}

TEST_F(CoreSecondBeginningTest, IsKnownAfterTheControllersRestart) {
    begin_anew();
    const uint64_t epoch = job().epoch;
    restart();
    replay_journal();
    third_ = attach("third", third_);
    resume(third_, 0, averaging(2), epoch);
    pass_hearing(milliseconds(3000), {third_});
    expect_sent_away_until_it_asks(come_back_from_before());
}

// A worker that comes back while its job is as it left it goes on with its own model.
TEST_F(CoreRejoinTest, AWorkerThatWasCutOffAveragesOn) {
    const auto nodes = start(averaging(2));
    send(NodeLost{nodes[1], "cut off"});
    const NodeId node = attach("node1");
    resume(node, 1, averaging(2), 1);
    clear();
    send(from(node, WorkerAdmit{1, 1, false}));
    EXPECT_TRUE(sent<WorkerSuspended>().empty());
    EXPECT_EQ(ranks_of(take<CommitView>().at(0)), (Ranks{0, 1}));
}

// One worker lacks rounds, since its daemon was killed. The workers that made them are lost for a
// moment, all at once.
TEST_F(CoreRejoinTest, WaitsForThoseWhoHaveTheModelWhenOnlyOthersAreLeft) {
    const auto nodes = start(reducing(3));
    complete_rounds(560);
    send(NodeLost{nodes[2], "killed"});
    attach("node2");
    answer_views(false);
    resume(nodes[2], 2, reducing(3), 1);
    send(from(nodes[2], WorkerAdmit{1, 2, false}));
    send(NodeLost{nodes[0], "silent"});
    answer_views(true);
    clear();
    send(NodeLost{nodes[1], "silent"});
    pass_hearing(milliseconds(300), {nodes[2]});
    EXPECT_TRUE(sent<CommitView>().empty());
    for (Rank rank = 0; rank < 2; ++rank) {
        attach("node" + std::to_string(rank));
        send(
            from(nodes[rank], WorkerJoin{rank + 100, rank, reducing(3), 1000, true, 1654, 561, 2}));
        send(from(nodes[rank], WorkerAdmit{1, rank, true}));
    }
    const auto told = sent<WorkerSuspended>();
    ASSERT_EQ(told.size(), 1U);
    EXPECT_EQ(told[0].rank, 2U);
    const auto views = take<CommitView>();
    ASSERT_FALSE(views.empty());
    EXPECT_EQ(ranks_of(views[0]), (Ranks{0, 1}));
    EXPECT_EQ(views[0].adoptions, (Adoptions{{1, 0}}));
}

TEST_F(CoreRejoinTest, GoesOnWithThoseWhoLackRoundsWhenNobodyElseComesBack) {
    const auto nodes = start(reducing(2));
    complete_rounds(560);
    send(NodeLost{nodes[1], "killed"});
    attach("node1");
    resume(nodes[1], 1, reducing(2), 1);
    send(NodeLost{nodes[0], "silent"});
    send(from(nodes[1], WorkerAdmit{1, 1, true}));
    clear();
    pass_hearing(milliseconds(1900), {nodes[1]});
    EXPECT_TRUE(sent<CommitView>().empty());
    pass_hearing(milliseconds(200), {nodes[1]});
    EXPECT_EQ(ranks_of(take<CommitView>().at(0)), (Ranks{1}));
}

// The first worker to return dies again: no deadline remains until another returns.
TEST_F(CoreRejoinTest, WaitsForNobodyWhenTheFirstToComeBackIsLostAgain) {
    const NodeId node = attach("a");
    for (Rank rank = 0; rank < 2; ++rank) join(node, rank, averaging(2));
    send(NodeLost{node, "killed"});
    attach("a");
    join(node, 1, averaging(2));
    send(from(node, WorkerLeave{1, 1, false}));
    pass_hearing(milliseconds(2500), {node});
    const auto due = core().next_deadline();
    EXPECT_TRUE(!due || *due > now());
}

// Two nodes come back; one of them is lost again while the other waits.
TEST_F(CoreRejoinTest, IsDueAtNoTimeThatHasPassedWhoeverIsLostAgain) {
    const auto nodes = start(averaging(4), 2);
    for (const NodeId node : nodes) send(NodeLost{node, "killed"});
    for (size_t i = 0; i < 2; ++i) {
        attach("node" + std::to_string(i));
        join(nodes[i], static_cast<Rank>(2 * i), averaging(4));
    }
    send(NodeLost{nodes[1], "killed again"});
    pass_hearing(milliseconds(2500), {nodes[0]});
    const auto due = core().next_deadline();
    EXPECT_TRUE(!due || *due > now());
}

// A group would be due, but its members are in no view yet.
TEST_F(CoreRejoinTest, LooksAtNothingElseWhileItWaitsForOthersToComeBack) {
    JobOptions options = averaging(3, 3);
    options.group_wait_ms = 5;
    const NodeId node = start(options, 3).front();
    send(NodeLost{node, "killed"});
    attach("node0");
    for (Rank rank = 0; rank < 2; ++rank) {
        join(node, rank, options);
        send(from(node, Ready{1, rank, 5, 7}));
    }
    pass_hearing(milliseconds(500), {node});
    const auto due = core().next_deadline();
    EXPECT_TRUE(!due || *due > now());
    EXPECT_TRUE(sent<GroupOrder>().empty());
}

}  // namespace
}  // namespace pace::controller
