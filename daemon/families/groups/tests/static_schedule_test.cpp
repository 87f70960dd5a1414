// Whom workers meet by the view alone. All nodes must come to the same groups.
#include "daemon/families/groups/static_schedule.h"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

namespace pace::daemon {
namespace {

using Ranks = std::vector<control::Rank>;

constexpr uint64_t kToken = 0xC0FFEE;

// Workers 0 and 1 are on node 10, workers 2 and 3 on node 20.
View view_of(uint64_t epoch) {
    View view;
    view.epoch = epoch;
    view.members = {{0, 10, 3, 22105}, {1, 10, 3, 22105}, {2, 20, 4, 0}, {3, 20, 4, 0}};
    return view;
}

Worker worker_of(control::Rank rank, uint64_t turn, uint64_t iteration = 0) {
    Worker worker;
    worker.rank = rank;
    worker.turn = turn;
    Request request;
    request.iteration = iteration;
    request.digest = 5;
    worker.queue.push_back(std::move(request));
    return worker;
}

control::GroupOrder order_of(const StaticSchedule& schedule, const Worker& worker) {
    return schedule.order(7, worker, view_of(1));
}

TEST(StaticSchedule, OfNoViewHasNoGroups) {
    const StaticSchedule none;
    EXPECT_FALSE(none.has_view());
    EXPECT_TRUE(none.next(worker_of(0, 0)).empty());
    EXPECT_TRUE(none.may_be_begun(worker_of(0, 0)).empty());
}

TEST(StaticSchedule, LetsTheNumberOfAWorkersAveragesDetermineWhomItMeets) {
    const StaticSchedule schedule(view_of(1), kToken);
    EXPECT_EQ(schedule.next(worker_of(0, 0)), (Ranks{0, 2})) << "the first of both nodes";
    EXPECT_EQ(schedule.next(worker_of(0, 1)), (Ranks{0, 1})) << "its own node";
    EXPECT_EQ(schedule.next(worker_of(1, 2)), (Ranks{1, 3})) << "the opposite node";
    EXPECT_TRUE(schedule.next(worker_of(9, 0)).empty()) << "it is no member";
}

TEST(StaticSchedule, OrdersAGroupWithEqualWeightsAndTheFactsOfTheView) {
    const StaticSchedule schedule(view_of(1), kToken);
    const control::GroupOrder order = order_of(schedule, worker_of(2, 0, 12));
    EXPECT_EQ(order.job, 7U);
    EXPECT_EQ(order.digest, 5U);
    ASSERT_EQ(order.members.size(), 2U);
    for (const control::Part& part : order.members) {
        EXPECT_EQ(part.weight, 0.5);
        EXPECT_EQ(part.iteration, 12U) << "as far as is known";
    }
    EXPECT_EQ(order.members[0].rank, 0U);
    EXPECT_EQ(order.members[0].node, 10U);
    EXPECT_EQ(order.members[0].zone, 3U);
    EXPECT_EQ(order.members[0].nccl, 22105U);
    EXPECT_EQ(order.members[1].node, 20U);
    EXPECT_EQ(order.members[1].zone, 4U);
}

TEST(StaticSchedule, GivesAGroupTheSameIdAtAllItsMembersAndNoOtherGroupThat) {
    const StaticSchedule schedule(view_of(1), kToken);
    const StaticSchedule later(view_of(2), kToken);
    EXPECT_EQ(order_of(schedule, worker_of(0, 0)).group, order_of(schedule, worker_of(2, 0)).group);
    std::set<control::GroupId> ids;
    for (const StaticSchedule* const one : {&schedule, &later})
        for (uint64_t turn = 0; turn < 8; ++turn)
            ids.insert(order_of(*one, worker_of(0, turn)).group);
    EXPECT_EQ(ids.size(), 16U) << "of two views, with eight turns each";
}

TEST(StaticSchedule, LetsNodesExchangeUnderNumbersThatFollowFromTheToken) {
    const StaticSchedule here(view_of(1), kToken);
    const StaticSchedule there(view_of(1), kToken);
    const StaticSchedule other(view_of(1), kToken + 1);
    EXPECT_EQ(here.number_of(3), there.number_of(3));
    EXPECT_NE(here.number_of(3), other.number_of(3));
    EXPECT_NE(here.number_of(3), here.number_of(4));
}

TEST(StaticSchedule, NamesTheGroupsOfAllPhasesThatOthersMayHaveBegun) {
    const StaticSchedule schedule(view_of(1), kToken);
    const auto begun = schedule.may_be_begun(worker_of(0, 3));
    EXPECT_FALSE(begun.empty());
    for (uint64_t turn = 3; turn < 3 + protocol::StaticGroups::kPhases; ++turn) {
        const Worker worker = worker_of(0, turn);
        if (schedule.next(worker).size() < 2) continue;  // it is left out, and nobody waits for it
        EXPECT_TRUE(std::ranges::count(begun, order_of(schedule, worker).group)) << turn;
    }
}

}  // namespace
}  // namespace pace::daemon
