// In which views rounds begin, and which number comes next.
#include "daemon/families/rounds/sequence.h"

#include <gtest/gtest.h>

namespace pace::daemon {
namespace {

constexpr NodeId kSelf = 1;
constexpr NodeId kOther = 2;

class SequenceTest : public testing::Test {
  protected:
    // Commits the next view, whose first round is `base_round`. True if this node lacks a round.
    bool commit(uint64_t base_round, std::vector<NodeId> behind = {}, NodeId donor = kOther) {
        control::CommitView view;
        view.epoch = ++view_.epoch;
        view.base_round = base_round;
        view.behind = std::move(behind);
        view.donor = donor;
        sequence_.hold(view.epoch);
        return sequence_.commit(view, kSelf);
    }
    void run_rounds(uint64_t count) {
        for (uint64_t i = 0; i < count; ++i) {
            sequence_.begin();
            (void)sequence_.end();
        }
    }

    View view_;
    Sequence sequence_{view_};
};

TEST_F(SequenceTest, NoRoundBeginsBeforeTheFirstView) {
    EXPECT_FALSE(sequence_.may_begin());
    EXPECT_FALSE(commit(0));
    EXPECT_TRUE(sequence_.may_begin());
}

TEST_F(SequenceTest, RoundsAreCountedInOrder) {
    commit(0);
    sequence_.begin();
    EXPECT_EQ(sequence_.end(), 0U);
    EXPECT_EQ(sequence_.end(), 1U);
    EXPECT_EQ(sequence_.completed(), 2U);
}

TEST_F(SequenceTest, AViewThatIsPreparedStopsRoundsUntilItIsCommitted) {
    commit(0);
    EXPECT_TRUE(sequence_.prepare(2));
    EXPECT_EQ(sequence_.preparing(), 2U);
    EXPECT_FALSE(sequence_.may_begin());
    EXPECT_TRUE(sequence_.prepare(2)) << "the controller asks again";
    EXPECT_TRUE(sequence_.prepare(3));
    EXPECT_FALSE(sequence_.prepare(2)) << "a newer one is known";
    view_.epoch = 2;
    commit(0);
    EXPECT_FALSE(sequence_.stopped());
    EXPECT_TRUE(sequence_.may_begin());
    EXPECT_FALSE(sequence_.prepare(3)) << "that is the view of now";
}

TEST_F(SequenceTest, AViewThatThisNodeDidNotPrepareHoldsRoundsWhileItIsCommitted) {
    sequence_.hold(4);
    EXPECT_EQ(sequence_.preparing(), 4U);
    sequence_.hold(3);
    EXPECT_EQ(sequence_.preparing(), 4U);
}

TEST_F(SequenceTest, ARoundHasTheViewInWhichItBegan) {
    commit(0);
    sequence_.begin();
    commit(0);
    EXPECT_EQ(sequence_.round_view().epoch, 1U);
    sequence_.begin();
    EXPECT_EQ(sequence_.round_view().epoch, 2U);
}

TEST_F(SequenceTest, ARoundThatFailedAmongNodesIsBegunInAnotherViewOnly) {
    commit(0);
    EXPECT_TRUE(sequence_.wait_for_view()) << "the controller has to hear of it";
    EXPECT_FALSE(sequence_.may_begin());
    commit(0);
    EXPECT_TRUE(sequence_.may_begin());
}

TEST_F(SequenceTest, TheControllerNeedNotHearOfAFailureIfItPreparesAViewAlready) {
    commit(0);
    ASSERT_TRUE(sequence_.prepare(2));
    EXPECT_FALSE(sequence_.wait_for_view());
}

TEST_F(SequenceTest, RoundsMayWaitWithinAView) {
    commit(0);
    sequence_.wait();
    EXPECT_TRUE(sequence_.waits());
    sequence_.go_on();
    EXPECT_TRUE(sequence_.may_begin());
}

TEST_F(SequenceTest, ANodeThatIsOneRoundBehindHasThatRoundStillBeforeIt) {
    commit(0);
    run_rounds(3);
    EXPECT_TRUE(commit(4, {kSelf}));
    EXPECT_EQ(sequence_.completed(), 3U);
    EXPECT_EQ(sequence_.view_base(), 4U);
    EXPECT_TRUE(sequence_.may_begin());
}

TEST_F(SequenceTest, AnyOtherNodeGoesOnWithTheFirstRoundOfTheView) {
    commit(0);
    run_rounds(3);
    EXPECT_FALSE(commit(3, {kOther})) << "another node is behind";
    EXPECT_EQ(sequence_.completed(), 3U);
    EXPECT_FALSE(commit(9, {kSelf})) << "too far behind for any result: its workers get a model";
    EXPECT_EQ(sequence_.completed(), 9U);
    EXPECT_FALSE(commit(10, {kSelf}, kSelf)) << "nobody fetches from itself";
    EXPECT_EQ(sequence_.completed(), 10U);
}

TEST_F(SequenceTest, ARoundForEveryoneIsForEveryoneUntilItEndsOrTheViewDoes) {
    const std::vector<std::function<void()>> ends{[this] { (void)sequence_.end(); },
                                                  [this] { commit(0); },
                                                  [this] { sequence_.invalidate(); }};
    for (const auto& end : ends) {
        sequence_.serve_everyone();
        EXPECT_TRUE(sequence_.is_for_everyone());
        end();
        EXPECT_FALSE(sequence_.is_for_everyone());
    }
}

TEST_F(SequenceTest, AViewIsLeftOnce) {
    EXPECT_EQ(sequence_.leave_view(), 0U);
    commit(0);
    EXPECT_EQ(sequence_.leave_view(), 1U);
    EXPECT_EQ(sequence_.leave_view(), 0U);
}

TEST_F(SequenceTest, AnExcludedNodeBeginsNoRoundAndIsNotStopped) {
    commit(0);
    ASSERT_TRUE(sequence_.prepare(2));
    view_ = {};
    sequence_.invalidate();
    EXPECT_FALSE(sequence_.stopped());
    EXPECT_FALSE(sequence_.may_begin());
}

// A controller that has lost its journal numbers its views from the beginning.
TEST_F(SequenceTest, AViewWithTheNumberOfAnotherOneIsNotThatOne) {
    commit(0);
    run_rounds(1);
    EXPECT_TRUE(sequence_.wait_for_view());
    view_ = {};
    sequence_.invalidate();
    EXPECT_EQ(sequence_.round_view().epoch, 0U);
    EXPECT_FALSE(commit(1));
    EXPECT_EQ(view_.epoch, 1U) << "as before";
    EXPECT_TRUE(sequence_.may_begin());
}

}  // namespace
}  // namespace pace::daemon
