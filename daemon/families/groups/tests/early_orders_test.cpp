// Orders that come before their members' calls: how long they are held, and who takes them.
#include "daemon/families/groups/early_orders.h"

#include <chrono>

#include "daemon/members/node_fixture.h"

namespace pace::daemon {
namespace {

using std::chrono::milliseconds;

// Workers 1 and 2 are here, worker 0 is on the other node.
class EarlyOrdersTest : public NodeFixture, private EarlyOrders::Owner {
  protected:
    static control::GroupOrder order_of(control::GroupId group,
                                        const std::vector<control::Rank>& ranks) {
        control::GroupOrder order;
        order.group = group;
        order.digest = kDigest;
        for (const control::Rank rank : ranks)
            order.members.push_back(
                {.rank = rank, .node = rank == 0 ? kOther : kSelf, .iteration = 5});
        return order;
    }
    // How long the order is held if nobody calls. The worker announced its call this long before.
    base::Duration held_for(base::Duration announced_before) {
        has_announced(*first_, 5);
        pass(announced_before);
        const base::TimePoint begin = base::now();
        orders_.hold(order_of(1, {0, 1}));
        const auto end = loop_->next_timer();
        EXPECT_TRUE(end.has_value());
        pass(*end - begin);
        EXPECT_EQ(late_, std::vector<control::GroupId>{1});
        return base::now() - begin;
    }

    const WorkerPtr first_ = add_worker(1);
    const WorkerPtr second_ = add_worker(2);
    EarlyOrders orders_{job_, *this};
    std::vector<control::GroupId> late_;

  private:
    void too_late(const control::GroupOrder& order) override { late_.push_back(order.group); }
};

TEST_F(EarlyOrdersTest, AreThoseThatNameAnAnnouncedCall) {
    EXPECT_FALSE(orders_.is_early(order_of(1, {0, 1}))) << "nobody has announced anything";
    has_announced(*first_, 5);
    EXPECT_TRUE(orders_.is_early(order_of(1, {0, 1})));
    EXPECT_FALSE(orders_.is_early(order_of(1, {0, 2}))) << "the other worker is meant";
    has_called(*first_, 5);
    EXPECT_FALSE(orders_.is_early(order_of(1, {0, 1})));
}

TEST_F(EarlyOrdersTest, AreNotThoseOfAnotherCall) {
    has_announced(*first_, 6);
    EXPECT_FALSE(orders_.is_early(order_of(1, {0, 1})));
    has_announced(*first_, 5);
    first_->announced->digest = kDigest + 1;
    EXPECT_FALSE(orders_.is_early(order_of(1, {0, 1})));
}

TEST_F(EarlyOrdersTest, AreNotThoseOfAWorkerOnAnotherNode) {
    has_announced(*first_, 5);
    control::GroupOrder order = order_of(1, {0, 1});
    order.members.back().node = kOther;
    EXPECT_FALSE(orders_.is_early(order));
}

TEST_F(EarlyOrdersTest, AreHeldForHalfOfTheTimeSinceTheAnnouncement) {
    EXPECT_EQ(held_for(milliseconds(200)), milliseconds(100));
}

TEST_F(EarlyOrdersTest, AreHeldForAtLeastAFewMilliseconds) {
    EXPECT_EQ(held_for(milliseconds(2)), milliseconds(20));
}

TEST_F(EarlyOrdersTest, AreHeldForWellBelowTheProgressDeadline) {
    EXPECT_EQ(held_for(milliseconds(60'000)), services_.options.progress_deadline / 4);
}

TEST_F(EarlyOrdersTest, AreTooLateOnceAndThenHeldNoMore) {
    held_for(milliseconds(2));
    EXPECT_FALSE(orders_.take(1));
    pass(milliseconds(60'000));
    EXPECT_EQ(late_.size(), 1U);
}

TEST_F(EarlyOrdersTest, ThatAreTakenAreNotTooLate) {
    has_announced(*first_, 5);
    orders_.hold(order_of(1, {0, 1}));
    const auto taken = orders_.take(1);
    ASSERT_TRUE(taken);
    EXPECT_EQ(taken->group, 1U);
    EXPECT_FALSE(orders_.take(1));
    pass(milliseconds(60'000));
    EXPECT_TRUE(late_.empty());
}

TEST_F(EarlyOrdersTest, AreCompleteWhenAllMembersHereHaveCalled) {
    has_announced(*first_, 5);
    has_announced(*second_, 5);
    orders_.hold(order_of(1, {0, 1, 2}));
    has_called(*first_, 5);
    EXPECT_FALSE(orders_.take_complete(*first_)) << "the second worker is missing";
    EXPECT_EQ(orders_.awaited_with(*first_), second_.get());
    has_called(*second_, 5);
    EXPECT_EQ(orders_.awaited_with(*first_), nullptr);
    const auto complete = orders_.take_complete(*second_);
    ASSERT_TRUE(complete);
    EXPECT_EQ(complete->group, 1U);
    EXPECT_FALSE(orders_.take_complete(*second_));
}

TEST_F(EarlyOrdersTest, AreTakenByTheWorkersThatTheyName) {
    has_announced(*first_, 5);
    has_announced(*second_, 5);
    orders_.hold(order_of(1, {0, 1}));
    orders_.hold(order_of(2, {0, 2}));
    orders_.hold(order_of(3, {1, 2}));
    std::vector<control::GroupId> taken;
    while (const auto order = orders_.take_naming(*first_)) taken.push_back(order->group);
    EXPECT_EQ(taken, (std::vector<control::GroupId>{1, 3}));
    const auto rest = orders_.take_all();
    ASSERT_EQ(rest.size(), 1U);
    EXPECT_EQ(rest.front().group, 2U);
    pass(milliseconds(60'000));
    EXPECT_TRUE(late_.empty());
}

}  // namespace
}  // namespace pace::daemon
