// Core groups: orders, weights, and what becomes of them when a member dies.
#include <gtest/gtest.h>

#include "service/controller/core/groups/groups.h"
#include "service/controller/core/tests/core_fixture.h"

namespace pace::controller {
namespace {

using std::chrono::milliseconds;

class CoreGroupsTest : public ::testing::Test, public CoreFixture {
  protected:
    void ready(NodeId node, Rank rank, uint64_t iteration = 0, uint32_t digest = 7) {
        send(from(node, Ready{1, rank, iteration, digest}));
    }
};

TEST_F(CoreGroupsTest, NoneFormsBeforeTheFirstViewIsCommitted) {
    answer_views(false);
    const NodeId a = attach("a");
    join(a, 0, averaging(3, 2));
    join(a, 1, averaging(3, 2));
    ready(a, 0);
    ready(a, 1);
    EXPECT_TRUE(take<GroupOrder>().empty());
    join(a, 2, averaging(3, 2));
    EXPECT_TRUE(sent<GroupOrder>().empty());
    send(from(a, ViewPrepared{1, 1, 0}));
    EXPECT_EQ(take<GroupOrder>().size(), 1U);
}

TEST_F(CoreGroupsTest, OrdersNameMembersByRankWithWeightsAndTheNewIteration) {
    JobOptions options = averaging(3);
    options.weights = Weights::dynamic;
    options.missing = Missing::initial;
    const auto nodes = start(options);
    ready(nodes[2], 2, 5);
    ready(nodes[0], 0, 5);
    ready(nodes[1], 1, 2);
    const auto orders = take<GroupOrder>();
    ASSERT_EQ(orders.size(), 1U);
    const GroupOrder& order = orders[0];
    ASSERT_EQ(order.members.size(), 3U);
    for (Rank rank = 0; rank < 3; ++rank) {
        EXPECT_EQ(order.members[rank].rank, rank);
        EXPECT_EQ(order.members[rank].node, nodes[rank]);
        EXPECT_NEAR(order.members[rank].weight, rank == 1 ? 1.0 / 15 : 4.0 / 15, 1e-15);
        EXPECT_EQ(order.members[rank].iteration, rank == 1 ? 2U : 5U);
    }
    EXPECT_NEAR(order.initial_weight, 2.0 / 5, 1e-15);
    EXPECT_EQ(order.iteration, 5U);
    EXPECT_EQ(order.epoch, 1U);
    EXPECT_EQ(order.digest, 7U);
    EXPECT_NE(order.group, 0U);
}

// Before any step is measured, the freeze timeout of ten median steps is long.
TEST_F(CoreGroupsTest, NoGroupWaitsForAStoppedProcess) {
    JobOptions options = averaging(3);
    options.policy = Policy::full;
    const auto nodes = start(options);
    ready(nodes[0], 0);
    ready(nodes[1], 1);
    const auto beat = [&] { send(from(nodes[2], Heartbeat{{{1, 2, 0, 0, 100, true}}})); };
    for (int i = 0; i < 20; ++i) {
        beat();
        EXPECT_TRUE(sent<GroupOrder>().empty());
        pass_hearing(milliseconds(100), nodes);
    }
    beat();
    const auto orders = take<GroupOrder>();
    ASSERT_EQ(orders.size(), 1U);
    EXPECT_EQ(orders[0].members.size(), 2U);
    EXPECT_TRUE(sent<WorkerSuspended>().empty());
    EXPECT_EQ(status_of(2), WorkerStatus::late);
}

TEST_F(CoreGroupsTest, AWorkerAloneInItsJobGetsItsOwnModelBack) {
    const auto nodes = start(averaging(1));
    ready(nodes[0], 0, 3);
    const auto orders = take<GroupOrder>();
    ASSERT_EQ(orders.size(), 1U);
    ASSERT_EQ(orders[0].members.size(), 1U);
    EXPECT_EQ(orders[0].members[0].weight, 1);
}

TEST_F(CoreGroupsTest, CloseWhenAllTheirNodesAreDone) {
    const auto nodes = start(averaging(2));
    ready(nodes[0], 0);
    ready(nodes[1], 1);
    const GroupId group = take<GroupOrder>()[0].group;
    EXPECT_EQ(job().groups_in_flight, 1U);
    send(from(nodes[0], GroupDone{1, group, false, 500, 10}));
    send(from(nodes[0], GroupDone{1, group, false, 500, 10}));
    EXPECT_EQ(job().groups_in_flight, 1U);
    send(from(nodes[1], GroupDone{1, group, false, 900, 20}));
    EXPECT_EQ(job().groups_in_flight, 0U);
    const GroupRecord record = job().recent_groups.at(0);
    EXPECT_TRUE(record.done);
    EXPECT_EQ(record.moving_ns, 900U);
    EXPECT_EQ(record.bytes, 30U);
}

TEST_F(CoreGroupsTest, AreAbortedAtTheOthersWhenANodeIsLostOrFails) {
    for (const bool lost : {true, false}) {
        CoreFixture f;
        const auto nodes = f.start(averaging(3));
        for (Rank rank = 0; rank < 3; ++rank) f.send(from(nodes[rank], Ready{1, rank, 0, 7}));
        const GroupId group = f.take<GroupOrder>().at(0).group;
        f.send(from(nodes[2], GroupDone{1, group, false, 1, 1}));
        if (lost) f.send(NodeLost{nodes[0], "test"});
        if (!lost) f.send(from(nodes[0], GroupDone{1, group, true, 0, 0}));
        const auto aborts = f.take<GroupAbort>();
        ASSERT_EQ(aborts.size(), 1U);
        EXPECT_EQ(aborts[0].to.front(), nodes[1]);
        EXPECT_EQ(aborts[0].group, group);
        // Its daemon announces the member again, and another worker averages with it.
        f.send(from(nodes[1], Ready{1, 1, 0, 7}));
        f.send(from(nodes[2], Ready{1, 2, 1, 7}));
        if (!lost) f.send(from(nodes[0], Ready{1, 0, 0, 7}));
        EXPECT_EQ(f.take<GroupOrder>().size(), 1U);
    }
}

TEST_F(CoreGroupsTest, GoOnAtTheDaemonsWhenATrainerDies) {
    const auto nodes = start(averaging(3, 2));
    ready(nodes[0], 0);
    ready(nodes[1], 1);
    const GroupId group = take<GroupOrder>()[0].group;
    send(from(nodes[0], WorkerLeave{1, 0, false}));
    EXPECT_TRUE(sent<GroupAbort>().empty());
    send(from(nodes[0], GroupDone{1, group, false, 1, 1}));
    send(from(nodes[1], GroupDone{1, group, false, 1, 1}));
    EXPECT_EQ(job().groups_in_flight, 0U);
}

TEST_F(CoreGroupsTest, CarryTheLatestEpochAndGoOnWhileAViewChanges) {
    const auto nodes = start(averaging(3, 2));
    answer_views(false);
    send(from(nodes[2], WorkerLeave{1, 2, true}));
    ready(nodes[0], 0);
    ready(nodes[1], 1);
    const auto orders = take<GroupOrder>();
    ASSERT_EQ(orders.size(), 1U);
    EXPECT_EQ(orders[0].epoch, 2U);
}

TEST_F(CoreGroupsTest, TakeInANewcomerThatIsReadyWithoutBeingAdmitted) {
    const auto nodes = start(averaging(3, 2));
    send(from(nodes[2], WorkerLeave{1, 2, false}));
    join(nodes[2], 2, averaging(3, 2));
    ready(nodes[0], 0, 8);
    clear();
    ready(nodes[2], 2, 0);
    EXPECT_EQ(sent<GroupOrder>().size(), 1U);
    EXPECT_EQ(take<CommitView>().at(0).members.size(), 3U);
}

TEST_F(CoreGroupsTest, TakeTheNewestSignalOfAWorkerThatWaits) {
    const auto nodes = start(averaging(4, 3));
    ready(nodes[0], 0, 5);
    ready(nodes[1], 1, 5);
    clear();
    ready(nodes[0], 0, 9, 99);
    ready(nodes[0], 0, 9);
    EXPECT_TRUE(sent<GroupOrder>().empty());
    ready(nodes[2], 2, 5);
    const auto orders = take<GroupOrder>();
    ASSERT_EQ(orders.size(), 1U);
    EXPECT_EQ(orders[0].members.size(), 3U);
    EXPECT_EQ(orders[0].iteration, 9U);
    // While a worker exchanges, its signal implies that its part is over.
    ready(nodes[0], 0, 6);
    ready(nodes[0], 0, 7);
    ready(nodes[3], 3, 6);
    ready(nodes[1], 1, 6);
    EXPECT_EQ(take<GroupOrder>().at(0).iteration, 7U);
}

// After a restart all workers wait. No event may take as long as ordering all their groups.
TEST_F(CoreGroupsTest, OfManyAtOnceAreOrderedAFewPerEvent) {
    constexpr uint32_t kWorkers = 1000;
    answer_views(false);
    const NodeId node = attach("a");
    for (Rank rank = 0; rank < kWorkers; ++rank) join(node, rank, averaging(kWorkers, 2));
    for (Rank rank = 0; rank < kWorkers; ++rank) ready(node, rank);
    clear();
    send(from(node, ViewPrepared{1, 1, 0}));
    size_t ordered = 0;
    for (int ticks = 0; ordered < kWorkers / 2 && ticks < 100; ++ticks) {
        const size_t now_ordered = take<GroupOrder>().size();
        EXPECT_LE(now_ordered, Groups::kGroupsPerTurn);
        ordered += now_ordered;
        if (ordered == kWorkers / 2) break;
        ASSERT_EQ(core().next_deadline(), now());
        send(Tick{});
    }
    EXPECT_EQ(ordered, kWorkers / 2);
    send(Tick{});
    EXPECT_GT(core().next_deadline(), now());
}

TEST_F(CoreGroupsTest, AnswerAWithdrawalOnlyWhileTheSignalWaits) {
    const auto nodes = start(averaging(2));
    ready(nodes[0], 0);
    send(from(nodes[0], Withdraw{1, 0}));
    EXPECT_EQ(take<Withdrawn>().size(), 1U);
    ready(nodes[0], 0);
    ready(nodes[1], 1);
    EXPECT_EQ(sent<GroupOrder>().size(), 1U);
    send(from(nodes[0], Withdraw{1, 0}));
    EXPECT_TRUE(take<Withdrawn>().empty());
}

TEST_F(CoreGroupsTest, NameTheSlowestWorkerAndByWhatFactor) {
    const auto nodes = start(averaging(3, 2));
    std::vector<TimePoint> due(3, now());
    std::vector<int> step_ms = {10, 10, 40};
    for (int ms = 0; ms < 2000; ++ms) {
        for (Rank rank = 0; rank < 3; ++rank) {
            if (due[rank] > now()) continue;
            due[rank] = TimePoint::max();
            ready(nodes[rank], rank);
            for (const GroupOrder& order : take<GroupOrder>()) {
                for (const auto& part : order.members) {
                    send(from(part.node, GroupDone{1, order.group, false, 1, 1}));
                    due[part.rank] = now() + milliseconds(step_ms[part.rank]);
                }
            }
        }
        hear(nodes);
        pass(milliseconds(1));
    }
    const JobView view = job();
    ASSERT_TRUE(view.slow.has_value());
    EXPECT_EQ(view.slow->rank, 2U);
    EXPECT_NEAR(view.slow->factor, 4, 0.5);
    EXPECT_LT(view.spectral_gap, 1);
    EXPECT_EQ(view.recent_groups.size(), view.groups_ordered);
}

TEST_F(CoreGroupsTest, WarnOnceOfAWorkerWithOtherBuffers) {
    const auto nodes = start(averaging(3, 2));
    const auto digest_notes = [&] {
        int count = 0;
        for (const Note& note : take<Note>()) count += note.event == "digest" ? 1 : 0;
        return count;
    };
    ready(nodes[0], 0);
    ready(nodes[1], 1);
    ready(nodes[2], 2, 0, 99);
    EXPECT_EQ(digest_notes(), 1);
    pass_hearing(std::chrono::seconds(2), nodes);
    const auto orders = take<GroupOrder>();  // alone at the end, instead of hanging
    ASSERT_EQ(orders.size(), 1U);
    EXPECT_EQ(orders[0].digest, 99U);
    send(from(nodes[2], GroupDone{1, orders[0].group, false, 1, 1}));
    ready(nodes[2], 2, 1, 99);
    EXPECT_EQ(digest_notes(), 0);
}

}  // namespace
}  // namespace pace::controller
