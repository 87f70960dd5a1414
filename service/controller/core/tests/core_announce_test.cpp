// Announcements: groups that form while their members compute.
#include <gtest/gtest.h>

#include "service/controller/core/tests/core_fixture.h"

namespace pace::controller {
namespace {

using std::chrono::milliseconds;

// Two workers whose first step took 80 ms.
class CoreAnnounceTest : public ::testing::Test, public CoreFixture {
  protected:
    void SetUp() override {
        nodes_ = start(averaging(2, 2));
        meet(0);
        pass(kStep);
        meet(1);
        clear();
    }

    void ready(Rank rank, uint64_t iteration, ReadyStage stage = ReadyStage::called) {
        send(from(nodes_[rank], Ready{1, rank, iteration, 7, stage}));
    }
    void announce(Rank rank, uint64_t iteration) { ready(rank, iteration, ReadyStage::announced); }
    void arrive(Rank rank, uint64_t iteration) { ready(rank, iteration, ReadyStage::arrived); }
    // Both average, then compute again.
    void meet(uint64_t iteration) {
        ready(0, iteration);
        ready(1, iteration);
        end(take<GroupOrder>().at(0));
    }
    void end(const GroupOrder& order, bool failed = false) {
        for (const NodeId node : nodes_) send(from(node, GroupDone{1, order.group, failed, 1, 1}));
    }
    Duration last_step(Rank rank) const { return job().workers.at(rank).step_last; }

    static constexpr Duration kStep = milliseconds(80);
    static constexpr Duration kDue = milliseconds(70);  // 7/8 of kStep
    std::vector<NodeId> nodes_;
};

TEST_F(CoreAnnounceTest, TheGroupFormsAnEighthOfAStepBeforeTheWorkerIsExpected) {
    announce(0, 2);
    ready(1, 2);
    pass(kDue - milliseconds(1));
    EXPECT_TRUE(sent<GroupOrder>().empty());
    pass(milliseconds(1));
    const auto orders = take<GroupOrder>();
    ASSERT_EQ(orders.size(), 1U);
    EXPECT_EQ(orders[0].members.size(), 2U);
    EXPECT_EQ(orders[0].iteration, 2U);
    pass(milliseconds(20));
    arrive(0, 2);
    EXPECT_TRUE(sent<GroupOrder>().empty());
    EXPECT_EQ(last_step(0), milliseconds(90));
    end(orders[0]);
    meet(3);
}

TEST_F(CoreAnnounceTest, WhoeverArrivesEarlierIsThereAtOnce) {
    announce(0, 2);
    ready(1, 2);
    pass(milliseconds(10));
    arrive(0, 2);
    EXPECT_EQ(take<GroupOrder>().size(), 1U);
    pass(kStep);
    EXPECT_TRUE(sent<GroupOrder>().empty());
    EXPECT_EQ(last_step(0), milliseconds(10));
}

TEST_F(CoreAnnounceTest, WithoutAMeasuredStepTheWorkerItselfIsAwaited) {
    restart();
    nodes_ = start(averaging(2, 2));
    announce(0, 1);
    ready(1, 1);
    pass_hearing(milliseconds(500), nodes_);
    EXPECT_TRUE(sent<GroupOrder>().empty());
    arrive(0, 1);
    EXPECT_EQ(take<GroupOrder>().size(), 1U);
}

TEST_F(CoreAnnounceTest, WhatIsTakenBackBeforeTheGroupFormsIsForgotten) {
    announce(0, 2);
    send(from(nodes_[0], Withdraw{1, 0, true}));
    ready(1, 2);
    pass(kStep);
    EXPECT_TRUE(sent<GroupOrder>().empty());
    EXPECT_TRUE(sent<Withdrawn>().empty());
    arrive(0, 2);  // its daemon may send this anyway
    EXPECT_EQ(take<GroupOrder>().size(), 1U);
}

TEST_F(CoreAnnounceTest, WhatIsTakenBackWhileItWaitsIsForgotten) {
    announce(0, 2);
    pass(kDue);
    send(from(nodes_[0], Withdraw{1, 0, true}));
    ready(1, 2);
    EXPECT_TRUE(sent<GroupOrder>().empty());
    EXPECT_TRUE(sent<Withdrawn>().empty());
    ready(0, 5);
    const auto orders = take<GroupOrder>();
    ASSERT_EQ(orders.size(), 1U);
    EXPECT_EQ(orders[0].iteration, 5U);
}

// Its daemon abandons the order, which releases the others.
TEST_F(CoreAnnounceTest, WhatIsTakenBackAfterTheOrderFailsItsGroup) {
    announce(0, 2);
    ready(1, 2);
    pass(kDue);
    const auto orders = take<GroupOrder>();
    send(from(nodes_[0], Withdraw{1, 0, true}));
    EXPECT_TRUE(sent<Withdrawn>().empty());
    send(from(nodes_[0], GroupDone{1, orders.at(0).group, true, 0, 0}));
    EXPECT_EQ(take<GroupAbort>().size(), 1U);
    ready(1, 2);
    EXPECT_TRUE(sent<GroupOrder>().empty());
    ready(0, 9);
    EXPECT_EQ(take<GroupOrder>().size(), 1U);
}

TEST_F(CoreAnnounceTest, OneThatIsTooLateSignalsAnewAndItsWholeStepCounts) {
    announce(0, 2);
    ready(1, 2);
    pass(kDue);
    send(from(nodes_[0], GroupDone{1, take<GroupOrder>().at(0).group, true, 0, 0}));
    ready(1, 2);
    clear();
    pass_hearing(milliseconds(500), nodes_);
    arrive(0, 2);
    EXPECT_EQ(take<GroupOrder>().size(), 1U);
    EXPECT_EQ(last_step(0), kDue + milliseconds(500));
}

TEST_F(CoreAnnounceTest, TheDeadAreNotExpected) {
    announce(0, 2);
    send(from(nodes_[0], WorkerLeave{1, 0, false}));
    ready(1, 2);
    const auto orders = take<GroupOrder>();
    ASSERT_EQ(orders.size(), 1U);
    EXPECT_EQ(orders[0].members.size(), 1U);
    pass(kStep);
    EXPECT_TRUE(sent<GroupOrder>().empty());
}

TEST_F(CoreAnnounceTest, TheStoppedAreNotExpected) {
    pass_hearing(std::chrono::seconds(8), nodes_);
    meet(2);  // with steps of 80 ms and 8 s, the median is the longer
    announce(0, 3);
    for (int i = 0; i < 25; ++i) {
        send(from(nodes_[0], Heartbeat{{{1, 0, 0, 0, 10, true}}}));
        pass_hearing(milliseconds(100), nodes_);
    }
    EXPECT_EQ(status_of(0), WorkerStatus::late);
    clear();
    ready(1, 3);
    const auto orders = take<GroupOrder>();
    ASSERT_EQ(orders.size(), 1U);
    EXPECT_EQ(orders[0].members.size(), 1U);
    pass_hearing(std::chrono::seconds(8), nodes_);
    EXPECT_TRUE(sent<GroupOrder>().empty());
}

TEST_F(CoreAnnounceTest, ASecondAnnouncementReplacesTheFirst) {
    announce(0, 2);
    announce(0, 4);
    ready(1, 2);
    pass(kDue);
    const auto orders = take<GroupOrder>();
    ASSERT_EQ(orders.size(), 1U);
    EXPECT_EQ(orders[0].iteration, 4U);
    announce(0, 6);  // in an exchange: ignored
    arrive(0, 4);
    end(orders[0]);
    ready(1, 5);
    pass(kStep);
    EXPECT_TRUE(sent<GroupOrder>().empty());
}

}  // namespace
}  // namespace pace::controller
