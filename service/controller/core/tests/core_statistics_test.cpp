// Core statistics: the cost of groups: counts, waits, exchanges and progress, by worked numbers.
#include <gtest/gtest.h>

#include "service/controller/core/tests/core_fixture.h"

namespace pace::controller {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class CoreStatisticsTest : public ::testing::Test, public CoreFixture {
  protected:
    void signal(NodeId node, Rank rank, uint64_t iteration = 0) {
        send(from(node, Ready{1, rank, iteration, 7}));
    }
    void end(NodeId node, GroupId group, bool failed = false) {
        send(from(node, GroupDone{1, group, failed, 1, 1}));
    }
    GroupId ordered() { return take<GroupOrder>().at(0).group; }
    WorkerView worker(Rank rank) const { return job().workers.at(rank); }
};

// Rank 0 waits 30 ms for rank 1, which waits for nobody; the exchange takes 4 and 6 ms.
TEST_F(CoreStatisticsTest, AMemberWaitsToTheOrderAndExchangesToItsNodesReport) {
    const auto nodes = start(averaging(2));
    signal(nodes[0], 0);
    pass(milliseconds(30));
    const TimePoint at = now();
    signal(nodes[1], 1);
    const GroupId group = ordered();
    pass(milliseconds(4));
    end(nodes[0], group);
    EXPECT_EQ(job().groups_completed, 0U);
    pass(milliseconds(2));
    end(nodes[1], group);

    const JobView view = job();
    EXPECT_EQ(view.groups_ordered, 1U);
    EXPECT_EQ(view.groups_completed, 1U);
    EXPECT_EQ(view.groups_failed, 0U);
    EXPECT_EQ(view.conflicts, 0U);
    EXPECT_DOUBLE_EQ(view.waited.total_s, 0.030);
    EXPECT_DOUBLE_EQ(view.exchanged.total_s, 0.010);
    EXPECT_DOUBLE_EQ(worker(0).waited.total_s, 0.030);
    EXPECT_EQ(worker(0).waited.median, milliseconds(30));
    EXPECT_EQ(worker(0).exchanged.median, milliseconds(4));
    EXPECT_EQ(worker(1).waited.median, milliseconds(0));
    EXPECT_DOUBLE_EQ(worker(1).exchanged.total_s, 0.006);

    const GroupRecord& record = view.recent_groups.at(0);
    EXPECT_EQ(record.times.at(0).signalled, at - milliseconds(30));
    EXPECT_EQ(record.times.at(1).signalled, at);
    EXPECT_EQ(record.ordered, at);
    EXPECT_EQ(record.times.at(0).ended, at + milliseconds(4));
    EXPECT_EQ(record.times.at(1).ended, at + milliseconds(6));
}

TEST_F(CoreStatisticsTest, TheMedianIsOfTheRecentTimesAndTheSumOfAll) {
    const auto nodes = start(averaging(2));
    for (const int wait_ms : {1, 2, 3, 100, 4}) {
        signal(nodes[0], 0);
        pass(milliseconds(wait_ms));
        signal(nodes[1], 1);
        const GroupId group = ordered();
        end(nodes[0], group);
        end(nodes[1], group);
    }
    EXPECT_EQ(worker(0).waited.median, milliseconds(3));
    EXPECT_DOUBLE_EQ(worker(0).waited.total_s, 0.110);
    EXPECT_EQ(job().groups_completed, 5U);
}

TEST_F(CoreStatisticsTest, AFailedGroupIsCountedAsThatAndItsTimeToo) {
    const auto nodes = start(averaging(2));
    signal(nodes[0], 0);
    signal(nodes[1], 1);
    const GroupId group = ordered();
    pass(milliseconds(5));
    end(nodes[0], group, true);
    const JobView view = job();
    EXPECT_EQ(view.groups_ordered, 1U);
    EXPECT_EQ(view.groups_completed, 0U);
    EXPECT_EQ(view.groups_failed, 1U);
    EXPECT_DOUBLE_EQ(view.exchanged.total_s, 0.010);
    EXPECT_EQ(view.recent_groups.at(0).times.at(1).ended, now());
}

TEST_F(CoreStatisticsTest, AFailedGroupKeepsTheReasonThatItsNodeGave) {
    const auto nodes = start(averaging(2));
    for (const std::string& reason : {std::string("a buffer is not there"), std::string()}) {
        signal(nodes[0], 0);
        signal(nodes[1], 1);
        const GroupId group = ordered();
        send(from(nodes[0], GroupDone{.job = 1, .group = group, .failed = true, .reason = reason}));
        const std::string told = "the exchange failed at node 'node0': ";
        const GroupRecord record = job().recent_groups.back();
        EXPECT_EQ(record.order.group, group);
        EXPECT_TRUE(record.failed);
        EXPECT_EQ(record.reason, told + (reason.empty() ? "?" : reason));
        const auto aborts = take<GroupAbort>();
        ASSERT_EQ(aborts.size(), 1U);
        EXPECT_EQ(aborts[0].to.front(), nodes[1]);
        EXPECT_EQ(aborts[0].reason, record.reason);
    }
}

TEST_F(CoreStatisticsTest, ASignalEndsTheExchangeOfItsWorkerOnly) {
    const auto nodes = start(averaging(3, 2));
    signal(nodes[0], 0);
    signal(nodes[1], 1);
    ordered();
    pass(milliseconds(7));
    signal(nodes[0], 0, 1);
    EXPECT_EQ(worker(0).exchanged.median, milliseconds(7));
    const GroupRecord record = job().recent_groups.at(0);
    EXPECT_EQ(record.times.at(0).ended, now());
    EXPECT_EQ(record.times.at(1).ended, std::nullopt);
    EXPECT_EQ(job().groups_in_flight, 1U);
}

TEST_F(CoreStatisticsTest, ASignalThatIsTakenBackHasNotWaited) {
    const auto nodes = start(averaging(2));
    signal(nodes[0], 0);
    pass(milliseconds(9));
    send(from(nodes[0], Withdraw{1, 0}));
    EXPECT_EQ(job().waited.total_s, 0);
}

TEST_F(CoreStatisticsTest, ConflictsOfPlannedGroupsAreShown) {
    JobOptions options = averaging(3, 2);
    options.policy = Policy::prague_random;
    const auto nodes = start(options);
    // With every draw, some of three groups of two among three workers must wait for others.
    for (uint64_t k = 0; k < 20; ++k) {
        for (Rank rank = 0; rank < 3; ++rank) signal(nodes[rank], rank, k);
        for (const GroupOrder& order : take<GroupOrder>())
            for (const auto& part : order.members) end(part.node, order.group);
        pass_hearing(milliseconds(100), nodes);
    }
    EXPECT_GT(job().conflicts, 0U);
}

TEST_F(CoreStatisticsTest, ProgressSpreadNamesTheLastAndTheFirst) {
    const auto nodes = start(averaging(4, 4));
    EXPECT_EQ(job().progress->most, 0U);
    signal(nodes[0], 0, 7);
    signal(nodes[1], 1, 3);
    signal(nodes[2], 2, 12);
    ProgressSpread spread = *job().progress;
    EXPECT_EQ(spread.last, 3U);
    EXPECT_EQ(spread.least, 0U);
    EXPECT_EQ(spread.first, 2U);
    EXPECT_EQ(spread.most, 12U);
    // A worker that is gone holds nobody back.
    send(from(nodes[3], WorkerLeave{1, 3, true}));
    spread = *job().progress;
    EXPECT_EQ(spread.most - spread.least, 0U) << "the three have averaged";
}

TEST_F(CoreStatisticsTest, WithoutGroupsTheRoundsTellTheProgress) {
    const auto nodes = start(reducing(2));
    send(from(nodes[0], Heartbeat{{{1, 0, 0, 9, 0, false}}}));
    send(from(nodes[1], Heartbeat{{{1, 1, 0, 4, 0, false}}}));
    const ProgressSpread spread = *job().progress;
    EXPECT_EQ(spread.last, 1U);
    EXPECT_EQ(spread.least, 4U);
    EXPECT_EQ(spread.most, 9U);
}

}  // namespace
}  // namespace pace::controller
