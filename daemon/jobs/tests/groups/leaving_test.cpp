// Workers that leave while they wait for a group: trainers that are gone, calls that are withdrawn,
// workers that the controller takes out of the job.
#include "daemon/jobs/tests/groups/groups_fixture.h"

namespace pace::daemon {
namespace {

using control::Policy;
using protocol::Outcome;
using protocol::Verb;
using std::chrono::milliseconds;
using std::chrono::seconds;

// All workers have called.
class LeavingGroups : public GroupsFixture {
  protected:
    LeavingGroups() {
        begin(Policy::partial_reduce);
        listen();
        our_call_ = average(worker_, buffer_);
        second_call_ = average(second_, second_buffer_);
        their_call_ = average(other_worker_, other_buffer_);
        order_ = order_of(5, {other_worker_, worker_, second_});
        ours.take<control::Ready>();
    }
    bool is_refused() {
        const auto done = ours.take<control::GroupDone>();
        return done.size() == 1 && done[0].failed;
    }

    uint64_t our_call_ = 0;
    uint64_t second_call_ = 0;
    uint64_t their_call_ = 0;
    control::GroupOrder order_;
};

// --------------------------------------------------------------------------- trainers that are
// gone

// The order was under way when the trainer went: the others get the mean of all three.
TEST_F(LeavingGroups, GetWhatATrainerThatIsGoneHasHandedIn) {
    job_->remove(worker_);
    pass(milliseconds(1900));
    give_both(order_);
    EXPECT_TRUE(is_done(second_call_) && is_done(their_call_));
    EXPECT_TRUE(holds(second_buffer_, 6) && holds(other_buffer_, 6));
    EXPECT_FALSE(has_ended(our_call_)) << "nobody is there to be told";
    EXPECT_EQ(ending(their_call_).members->size(), 3U);
}

TEST_F(LeavingGroups, DoNotKeepWhatATrainerHasHandedInForLong) {
    job_->remove(worker_);
    std::weak_ptr<Worker> gone = worker_;
    worker_.reset();
    pass(milliseconds(1999));
    EXPECT_FALSE(gone.expired());
    pass(milliseconds(1));
    EXPECT_TRUE(gone.expired());
    give(order_);
    EXPECT_TRUE(is_refused());
    EXPECT_EQ(ours.take<control::Ready>(), std::vector{ready_signal(second_, 1)});
    EXPECT_TRUE(holds(second_buffer_, 5));
}

TEST_F(LeavingGroups, TakeWhatATrainerHasHandedInOnce) {
    job_->remove(worker_);
    give_both(order_of(5, {other_worker_, worker_}));
    EXPECT_TRUE(is_done(their_call_));
    ours.take<control::GroupDone>();
    give(order_of(6, {worker_, second_}));
    EXPECT_TRUE(is_refused());
    EXPECT_TRUE(holds(second_buffer_, 5));
}

// A successor of the same rank has called meanwhile.
TEST_F(LeavingGroups, TakeTheCallThatTheyNameAndNotItsSuccessors) {
    job_->remove(worker_);
    const WorkerPtr successor = new_worker(kOurs);
    job_->add(successor);
    const BufferPtr successors = buffer_of(kElements, 100);
    const uint64_t id = average(successor, successors, 8);
    give_both(order_);
    EXPECT_TRUE(is_done(second_call_));
    EXPECT_TRUE(holds(second_buffer_, 6)) << floats(*second_buffer_).front();
    EXPECT_FALSE(has_ended(id));
    EXPECT_TRUE(holds(successors, 100));
}

// The trainer's memory went with it.
TEST_F(LeavingGroups, DoNotTouchBuffersThatWereTheTrainersOwn) {
    buffer_->temporary = true;
    job_->remove(worker_);
    give(order_);
    EXPECT_TRUE(is_refused());
}

TEST_F(LeavingGroups, DoNotWaitForBuffersThatATrainerWasMakingStill) {
    give(order_of(4, {worker_}));
    ASSERT_TRUE(is_done(our_call_));
    Request unmade = average_of(buffer_, 2);
    unmade.order = protocol::Order::forward;
    unmade.digest = digest_of(unmade.buffers, unmade.order);
    unmade.ready = 1;
    submit(worker_, std::move(unmade));
    const control::GroupOrder order = order_of(5, {worker_});
    ours.take<control::GroupDone>();
    job_->remove(worker_);
    give(order);
    EXPECT_TRUE(is_refused());
}

TEST_F(LeavingGroups, ThatAreUnderWayGoOnWithoutTheTrainer) {
    give(order_);
    job_->remove(worker_);
    job_->remove(second_);
    give_there(order_);
    EXPECT_TRUE(is_done(their_call_));
    EXPECT_TRUE(holds(other_buffer_, 6));
    EXPECT_FALSE(has_ended(our_call_) || has_ended(second_call_));
    EXPECT_EQ(ours.take<control::GroupDone>().size(), 1U);
}

TEST_F(LeavingGroups, ThatFailAreNotSignaledForTrainersThatAreGone) {
    give(order_);
    job_->remove(worker_);
    job_->abort_group(5, base::make_error(base::ErrorKind::aborted, "another node has failed"));
    settle();
    EXPECT_EQ(ours.take<control::Ready>(), std::vector{ready_signal(second_, 1)});
}

// --------------------------------------------------------------------------- calls that are
// withdrawn

TEST_F(LeavingGroups, LetACallGoThatIsWithdrawnInTime) {
    job_->cancel(worker_, our_call_);
    EXPECT_EQ(ours.take<control::Withdraw>(),
              (std::vector{control::Withdraw{.job = kJob, .rank = kOurs}}));
    EXPECT_FALSE(has_ended(our_call_)) << "an order may be under way";
    job_->withdrawn(kOurs);
    ASSERT_TRUE(has_ended(our_call_));
    EXPECT_EQ(ending(our_call_).outcome, Outcome::canceled);
    EXPECT_EQ(ending(our_call_).message, "canceled before a group had formed");
    EXPECT_TRUE(holds(buffer_, 3));
    job_->withdrawn(kOurs);
    EXPECT_TRUE(ours.take<control::Withdraw>().empty());
}

TEST_F(LeavingGroups, ThatComeFirstEndACallThatIsWithdrawn) {
    job_->cancel(worker_, our_call_);
    give_both(order_);
    EXPECT_TRUE(is_done(our_call_));
    EXPECT_TRUE(holds(buffer_, 6));
    const uint64_t next = average(worker_, buffer_, 2);
    settle();
    EXPECT_EQ(ours.take<control::Withdraw>().size(), 1U) << "the next call is not withdrawn";
    EXPECT_FALSE(has_ended(next));
}

// The controller dropped the withdrawal when it ordered the group.
TEST_F(LeavingGroups, ThatComeFirstAndFailLeaveACallWithdrawn) {
    job_->cancel(worker_, our_call_);
    ours.take<control::Withdraw>();
    give(order_);
    job_->abort_group(5, base::make_error(base::ErrorKind::aborted, "another node has failed"));
    settle();
    EXPECT_EQ(ours.take<control::Withdraw>(),
              (std::vector{control::Withdraw{.job = kJob, .rank = kOurs}}));
    job_->withdrawn(kOurs);
    EXPECT_EQ(ending(our_call_).outcome, Outcome::canceled);
}

TEST_F(LeavingGroups, AreWithdrawnFromAgainAfterAnotherAttachment) {
    job_->cancel(worker_, our_call_);
    ours.take<control::Withdraw>();
    job_->resumed(worker_, false);
    job_->resumed(second_, false);
    EXPECT_EQ(ours.take<control::Ready>(),
              (std::vector{ready_signal(worker_, 1), ready_signal(second_, 1)}));
    EXPECT_EQ(ours.take<control::Withdraw>(),
              (std::vector{control::Withdraw{.job = kJob, .rank = kOurs}}));
}

TEST_F(LeavingGroups, ThatAreUnderWayKeepACallThatIsCanceled) {
    give(order_);
    job_->cancel(worker_, our_call_);
    settle();
    EXPECT_TRUE(ours.take<control::Withdraw>().empty());
    give_there(order_);
    EXPECT_TRUE(is_done(our_call_));
}

TEST_F(LeavingGroups, AreNotLeftByAWorkerWithoutACall) {
    job_->withdrawn(3);
    give_both(order_);
    job_->withdrawn(kOurs);
    EXPECT_TRUE(is_done(our_call_));
}

// ------------------------------------------------------------------------ taken out by the
// controller

TEST_F(LeavingGroups, AskForTheirPlaceAgainIfTheControllerTakesAWorkerOut) {
    job_->suspend(kOurs, "late");
    settle();
    EXPECT_FALSE(has_ended(our_call_)) << "its model is averaged with a newer one";
    EXPECT_EQ(ours.take<control::WorkerAdmit>(),
              (std::vector{control::WorkerAdmit{.job = kJob, .rank = kOurs}}));
    commit_all(2);
    give_both(order_);
    EXPECT_TRUE(is_done(our_call_));
}

TEST_F(LeavingGroups, AskForAPlaceAgainIfTheJobWentOnWithoutTheNode) {
    job_->resumed(worker_, true);
    EXPECT_EQ(ours.take<control::WorkerAdmit>(),
              (std::vector{control::WorkerAdmit{.job = kJob, .rank = kOurs}}));
    EXPECT_EQ(ours.take<control::Ready>(), std::vector{ready_signal(worker_, 1)});
}

TEST_F(LeavingGroups, LetWorkersOfADrainedNodeGo) {
    job_->drain(kOurs, "the node is drained");
    ASSERT_TRUE(has_ended(our_call_));
    EXPECT_EQ(ending(our_call_).outcome, Outcome::failed);
    EXPECT_EQ(ending(our_call_).message, "the node is drained");
    give(order_);
    EXPECT_TRUE(is_refused());
}

// Its model is not that of the workers with which it would average.
TEST_F(LeavingGroups, TellAWorkerOnceThatTheJobHasBegunAnewWithoutIt) {
    job_->suspend(kOurs, "the job has begun anew", true);
    settle();
    ASSERT_TRUE(has_ended(our_call_));
    EXPECT_EQ(ending(our_call_).outcome, Outcome::stale);
    EXPECT_EQ(ending(our_call_).message,
              "the job has begun anew; call pace_broadcast for the current model");
    EXPECT_TRUE(ours.take<control::WorkerAdmit>().empty());
    const uint64_t again = average(worker_, buffer_);
    EXPECT_FALSE(has_ended(again)) << "it was told, and may go on with its own model";
}

// What it was not told yet is not forgotten because it is late.
TEST_F(LeavingGroups, TellALateWorkerWhatItDoesNotKnowYet) {
    give_both(order_);
    ASSERT_TRUE(is_done(our_call_));
    worker_->unaware = true;
    job_->suspend(kOurs, "late");
    const uint64_t next = average(worker_, buffer_);
    ASSERT_TRUE(has_ended(next));
    EXPECT_EQ(ending(next).outcome, Outcome::stale);
}

// The worker has no call under way when the word comes.
TEST_F(LeavingGroups, TellAnIdleWorkerAtItsNextCallThatTheJobHasBegunAnew) {
    give_both(order_);
    ASSERT_TRUE(is_done(our_call_));
    job_->suspend(kOurs, "the job has begun anew", true);
    const uint64_t next = average(worker_, buffer_);
    ASSERT_TRUE(has_ended(next));
    EXPECT_EQ(ending(next).outcome, Outcome::stale);
    EXPECT_FALSE(has_ended(average(worker_, buffer_)));
}

}  // namespace
}  // namespace pace::daemon
