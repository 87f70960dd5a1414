// Conflicts: when a group counts as one that had to wait for another.
#include <gtest/gtest.h>

#include "service/controller/policies/planned_groups.h"
#include "service/controller/policies/policy.h"

namespace pace::controller {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

JobOptions options_of(Policy policy, uint32_t world, uint32_t group_size) {
    JobOptions options;
    options.name = "test";
    options.world = world;
    options.policy = policy;
    options.group_size = group_size;
    options.group_min = 2;
    options.history_window = 2 * world;
    return options;
}

// Plans the given groups in order: the next one when a worker has none.
class ToldGroups final : public PlannedGroups {
  public:
    ToldGroups(const JobOptions& options, std::vector<std::vector<Rank>> told)
        : PlannedGroups(options), told_(std::move(told)) {
        for (Rank rank = 0; rank < options.world; ++rank) add_member(rank, 1, now_);
    }

    // Sends signals one millisecond apart; returns the groups that they complete.
    std::vector<std::vector<Rank>> ready(const std::vector<Rank>& ranks) {
        std::vector<std::vector<Rank>> groups;
        std::vector<Signal> signals;
        for (const Rank rank : ranks) {
            now_ += milliseconds(1);
            EXPECT_EQ(add_signal({rank, 7, 0, now_}), Received::queued);
            while (next_group(now_, signals)) {
                groups.emplace_back();
                for (const Signal& signal : signals) groups.back().push_back(signal.rank);
            }
        }
        return groups;
    }
    void end(const std::vector<Rank>& ranks) {
        for (const Rank rank : ranks) release(rank, now_);
    }

  private:
    void plan(Rank /*requester*/) override {
        add_plan(told_.at(next_));
        ++next_;
    }

    std::vector<std::vector<Rank>> told_;
    size_t next_ = 0;
    TimePoint now_{seconds(1)};
};

using Groups = std::vector<std::vector<Rank>>;

TEST(Conflicts, AGroupThatOnlyWaitsForAStragglerHasNone) {
    ToldGroups policy(options_of(Policy::prague_random, 4, 2), {{0, 1}, {2, 3}});
    EXPECT_TRUE(policy.ready({0, 2}).empty());
    EXPECT_EQ(policy.ready({1, 3}), (Groups{{0, 1}, {2, 3}}));
    EXPECT_EQ(policy.conflicts(), 0U);
}

TEST(Conflicts, AGroupWaitsForAMemberThatExchangesElsewhere) {
    ToldGroups policy(options_of(Policy::prague_random, 3, 2), {{0, 1}, {2, 1}});
    EXPECT_EQ(policy.ready({0, 1}).size(), 1U);
    EXPECT_TRUE(policy.ready({2}).empty());
    EXPECT_EQ(policy.conflicts(), 1U);
    policy.end({0, 1});
    EXPECT_EQ(policy.ready({1}), (Groups{{2, 1}}));
    EXPECT_EQ(policy.conflicts(), 1U);
}

// 2 and then 3 wait for {1, 2, 3}, while 1 has {0, 1} at the front: one group, one conflict.
TEST(Conflicts, AGroupBehindAnOlderOneCountsOnceHoweverManyWait) {
    ToldGroups policy(options_of(Policy::prague_random, 4, 3), {{0, 1}, {1, 2, 3}});
    EXPECT_TRUE(policy.ready({0, 2, 3}).empty());
    EXPECT_EQ(policy.conflicts(), 1U);
    EXPECT_EQ(policy.ready({1}), (Groups{{0, 1}}));
    policy.end({0, 1});
    EXPECT_EQ(policy.ready({1}), (Groups{{1, 2, 3}}));
    EXPECT_EQ(policy.conflicts(), 1U);
}

// The node of 0 has reported its part of {0, 1}; the node of 1 reports soon.
TEST(Conflicts, ThoseWhoLeaveTheSameGroupAreNotInEachOthersWay) {
    ToldGroups policy(options_of(Policy::full, 2, 2), {{0, 1}, {0, 1}});
    EXPECT_EQ(policy.ready({0, 1}).size(), 1U);
    policy.end({0});
    EXPECT_TRUE(policy.ready({0}).empty());
    policy.end({1});
    EXPECT_EQ(policy.ready({1}).size(), 1U);
    EXPECT_EQ(policy.conflicts(), 0U);
}

TEST(Conflicts, PartialReduceHasNone) {
    const auto policy = make_policy(options_of(Policy::partial_reduce, 3, 2), 1);
    const TimePoint now{seconds(1)};
    std::vector<Signal> group;
    for (Rank rank = 0; rank < 3; ++rank) policy->add_member(rank, 1, now);
    for (Rank rank = 0; rank < 3; ++rank) policy->add_signal({rank, 7, 0, now});
    EXPECT_TRUE(policy->next_group(now, group));
    EXPECT_EQ(policy->conflicts(), 0U);
}

// ------------------------------------------------------------------------------ who waits for whom

TEST(Incomplete, GroupsNameThoseWhoHaveNotCome) {
    ToldGroups policy(options_of(Policy::prague_random, 4, 2), {{0, 1}, {2, 3}});
    EXPECT_TRUE(policy.view().incomplete.empty());
    policy.ready({0});
    const PolicyView view = policy.view();
    EXPECT_TRUE(view.names_groups);
    ASSERT_EQ(view.incomplete.size(), 1U);
    EXPECT_EQ(view.incomplete.front().waiting, std::vector<Rank>{0});
    EXPECT_EQ(view.incomplete.front().missing, std::vector<Rank>{1});
    policy.ready({1});
    EXPECT_TRUE(policy.view().incomplete.empty());
}

}  // namespace
}  // namespace pace::controller
