// Core cuts: the network is cut between nodes that the controller all hears.
#include <algorithm>

#include "service/controller/core/tests/core_fixture.h"

namespace pace::controller {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class CoreCutsTest : public CoreFixture, public testing::Test {
  protected:
    void cut(NodeId a, NodeId b) {
        send(from(a, LinkCut{b, true, 2000}));
        send(from(b, LinkCut{a, true, 2000}));
    }
    void mend(NodeId a, NodeId b) {
        send(from(a, LinkCut{b, false, 0}));
        send(from(b, LinkCut{a, false, 0}));
    }
    void settle(const std::vector<NodeId>& nodes) { pass_hearing(milliseconds(600), nodes); }

    std::vector<NodeId> nodes_of_last_view() const {
        const auto views = sent<CommitView>();
        std::vector<NodeId> nodes;
        if (views.empty()) return nodes;
        for (const Member& member : views.back().members) nodes.push_back(member.node);
        return nodes;
    }
    bool noted(const std::string& event, const std::string& words) const {
        const auto notes = sent<Note>();
        return std::any_of(notes.begin(), notes.end(), [&](const Note& note) {
            return note.event == event && note.detail.find(words) != std::string::npos;
        });
    }
};

TEST_F(CoreCutsTest, AJobGoesOnWithoutOneOfTwoNodesThatMissEachOther) {
    const auto nodes = start(reducing(3));
    clear();
    cut(nodes[0], nodes[2]);
    settle(nodes);
    EXPECT_TRUE(sent<Excluded>().empty()) << "it is heard, and other jobs may need it";
    EXPECT_EQ(nodes_of_last_view(), (std::vector{nodes[0], nodes[1]}));
    EXPECT_EQ(status_of(2), WorkerStatus::suspended);
    EXPECT_EQ(sent<WorkerSuspended>().at(0).rank, 2U);
    EXPECT_TRUE(noted("node-left-out", "'node2', which is cut from node 'node0'"));
    EXPECT_EQ(job().left_out, std::vector{nodes[2]});
    const StatusView status = core().status(now());
    ASSERT_EQ(status.cuts.size(), 1U);
    EXPECT_EQ(status.cuts[0].low, nodes[0]);
    EXPECT_EQ(status.cuts[0].high, nodes[2]);
}

TEST_F(CoreCutsTest, ANodeThatIsAloneWithItsReportLeavesItselfAndBothMustTakeItBack) {
    const auto nodes = start(reducing(3));
    send(from(nodes[0], LinkCut{nodes[2], true, 2000}));
    settle(nodes);
    EXPECT_EQ(nodes_of_last_view(), (std::vector{nodes[1], nodes[2]}));
    send(from(nodes[2], LinkCut{nodes[0], true, 2000}));
    send(from(nodes[0], LinkCut{nodes[2], false, 0}));
    EXPECT_EQ(core().status(now()).cuts.size(), 1U);
    send(from(nodes[2], LinkCut{nodes[0], false, 0}));
    EXPECT_TRUE(core().status(now()).cuts.empty());
    EXPECT_TRUE(job().left_out.empty());
}

TEST_F(CoreCutsTest, ANodeThatAccusesAllOthersLeavesAlone) {
    const auto nodes = start(reducing(4));
    for (const NodeId other : {nodes[1], nodes[2], nodes[3]})
        send(from(nodes[0], LinkCut{other, true, 2000}));
    settle(nodes);
    EXPECT_EQ(nodes_of_last_view(), (std::vector{nodes[1], nodes[2], nodes[3]}));
}

TEST_F(CoreCutsTest, ANodeThatTwoOthersDoNotHearLeavesThoughItSaysNothing) {
    const auto nodes = start(reducing(4));
    for (const NodeId other : {nodes[1], nodes[2], nodes[3]})
        send(from(other, LinkCut{nodes[0], true, 2000}));
    settle(nodes);
    EXPECT_EQ(nodes_of_last_view(), (std::vector{nodes[1], nodes[2], nodes[3]}));
}

TEST_F(CoreCutsTest, ANodeThatIsLeftOutComesBackWhenItIsReachedAgainAndNotBefore) {
    const auto nodes = start(reducing(3));
    cut(nodes[0], nodes[2]);
    settle(nodes);
    clear();
    send(from(nodes[2], WorkerAdmit{1, 2, true}));
    settle(nodes);
    EXPECT_TRUE(sent<CommitView>().empty()) << "it would hold up all";
    mend(nodes[0], nodes[2]);
    EXPECT_EQ(nodes_of_last_view(), nodes);
    EXPECT_EQ(sent<CommitView>().back().adoptions.at(0).newcomer, 2U);
    EXPECT_TRUE(noted("node-back", "node2"));
    EXPECT_EQ(status_of(2), WorkerStatus::active);
}

TEST_F(CoreCutsTest, WhatASignalAsksForIsKeptUntilItsNodeIsBack) {
    const auto nodes = start(averaging(3, 3));
    cut(nodes[0], nodes[2]);
    settle(nodes);
    send(from(nodes[2], WorkerAdmit{1, 2, false}));
    send(from(nodes[2], Ready{1, 2, 5, 7}));
    mend(nodes[0], nodes[2]);
    clear();
    send(from(nodes[0], Ready{1, 0, 5, 7}));
    send(from(nodes[1], Ready{1, 1, 5, 7}));
    ASSERT_EQ(sent<GroupOrder>().size(), 1U);
    EXPECT_EQ(sent<GroupOrder>()[0].members.size(), 3U);
}

TEST_F(CoreCutsTest, ANodeThatAllOthersMissIsTheOneThatLeavesWhoeverSaysSoFirst) {
    const auto nodes = start(reducing(4));
    clear();
    cut(nodes[0], nodes[1]);
    pass_hearing(milliseconds(100), nodes);
    cut(nodes[0], nodes[2]);
    pass_hearing(milliseconds(100), nodes);
    cut(nodes[0], nodes[3]);
    settle(nodes);
    EXPECT_EQ(nodes_of_last_view(), (std::vector{nodes[1], nodes[2], nodes[3]}));
    const auto suspended = sent<WorkerSuspended>();
    ASSERT_EQ(suspended.size(), 1U);
    EXPECT_EQ(suspended[0].rank, 0U);
}

TEST_F(CoreCutsTest, WhoWasLeftOutForOneThatHasGoneIsTakenBack) {
    const auto nodes = start(reducing(3));
    cut(nodes[0], nodes[2]);
    settle(nodes);
    send(from(nodes[2], WorkerAdmit{1, 2, true}));
    clear();
    send(NodeLost{nodes[0], "goodbye"});
    EXPECT_EQ(nodes_of_last_view(), (std::vector{nodes[1], nodes[2]}));
}

TEST_F(CoreCutsTest, ANewcomerThatNotAllReachWaits) {
    const auto nodes = start(reducing(2));
    const NodeId late = attach("late");
    cut(nodes[0], late);
    settle({nodes[0], nodes[1], late});
    send(from(nodes[1], WorkerLeave{1, 1, true, 0}));
    join(late, 1, reducing(2));
    clear();
    send(from(late, WorkerAdmit{1, 1, true}));
    EXPECT_TRUE(sent<CommitView>().empty());
    EXPECT_EQ(job().left_out, std::vector{late});
    mend(nodes[0], late);
    EXPECT_EQ(nodes_of_last_view(), (std::vector{nodes[0], late}));
}

// The end that reported the cut has dropped its connection, and the data on it. The other end may
// not know, and waits.
TEST_F(CoreCutsTest, AfterACutThatEndsBeforeItCountsWhateverWasUnderWayBeginsAnew) {
    const auto nodes = start(reducing(3));
    clear();
    send(from(nodes[0], LinkCut{nodes[2], true, 1000}));
    pass_hearing(milliseconds(100), nodes);
    EXPECT_TRUE(sent<CommitView>().empty());
    send(from(nodes[0], LinkCut{nodes[2], false, 0}));
    EXPECT_EQ(nodes_of_last_view(), nodes);
    EXPECT_TRUE(sent<WorkerSuspended>().empty());
    clear();
    settle(nodes);
    EXPECT_TRUE(sent<PrepareView>().empty()) << "once";
}

TEST_F(CoreCutsTest, ACutThatEndsBeforeItCountsDisturbsNoJobThatHasNotBothNodes) {
    const auto nodes = start(reducing(2));
    const NodeId other = attach("other");
    clear();
    send(from(nodes[0], LinkCut{other, true, 1000}));
    send(from(nodes[0], LinkCut{other, false, 0}));
    EXPECT_TRUE(sent<PrepareView>().empty());
}

TEST_F(CoreCutsTest, ACutOfNodesThatDoNotMeetInAJobDisturbsItNot) {
    const auto nodes = start(reducing(2));
    const NodeId other = attach("other");
    clear();
    cut(nodes[0], other);
    settle({nodes[0], nodes[1], other});
    EXPECT_TRUE(sent<PrepareView>().empty());
    EXPECT_TRUE(job().left_out.empty());
}

// A cluster of many nodes splits into two halves that both reach the controller.
TEST_F(CoreCutsTest, ASplitOfManyNodesLeavesHalfOfThemOut) {
    constexpr uint32_t kHalf = 100;
    const auto nodes = start(reducing(2 * kHalf));
    for (uint32_t i = 0; i < kHalf; ++i)
        for (uint32_t j = kHalf; j < 2 * kHalf; ++j) cut(nodes[i], nodes[j]);
    settle(nodes);
    EXPECT_EQ(core().status(now()).cuts.size(), kHalf * kHalf);
    EXPECT_EQ(nodes_of_last_view().size(), kHalf);
    EXPECT_EQ(job().left_out.size(), kHalf);
    for (uint32_t i = 0; i < kHalf; ++i)
        for (uint32_t j = kHalf; j < 2 * kHalf; ++j) mend(nodes[i], nodes[j]);
    EXPECT_TRUE(job().left_out.empty());
    EXPECT_TRUE(core().status(now()).cuts.empty());
}

// The donor is not the node that is left out, if any other node has the result.
TEST_F(CoreCutsTest, TheDonorOfAMissedResultIsOneThatAllReach) {
    const auto nodes = start(reducing(3));
    answer_views(false);
    clear();
    cut(nodes[0], nodes[2]);
    settle(nodes);
    const uint64_t epoch = sent<PrepareView>().back().epoch;
    const uint64_t before = epoch - 1;
    send(from(nodes[0], ViewPrepared{1, epoch, 4, before, before}));
    send(from(nodes[2], ViewPrepared{1, epoch, 5, before, before}));
    send(from(nodes[1], ViewPrepared{1, epoch, 5, before, before}));
    ASSERT_FALSE(sent<CommitView>().empty());
    EXPECT_EQ(sent<CommitView>().back().donor, nodes[1]);
}

TEST_F(CoreCutsTest, ReportsOfStrangersAndOfOneselfChangeNothing) {
    const auto nodes = start(reducing(2));
    clear();
    send(from(nodes[0], LinkCut{nodes[0], true, 2000}));
    send(from(nodes[0], LinkCut{99, true, 2000}));
    send(from(99, LinkCut{nodes[0], true, ~uint64_t{0}}));
    settle(nodes);
    EXPECT_TRUE(sent<PrepareView>().empty());
    EXPECT_TRUE(core().status(now()).cuts.empty());
}

}  // namespace
}  // namespace pace::controller
