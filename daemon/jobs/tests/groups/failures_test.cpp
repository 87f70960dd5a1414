// Groups that do not come to pass: refused here, aborted by the controller, failed on the way. The
// members are ready again, with their buffers as they were.
#include <string>

#include "daemon/jobs/tests/groups/groups_fixture.h"

namespace pace::daemon {
namespace {

using base::ErrorKind;
using control::Policy;
using protocol::Outcome;
using protocol::Verb;
using std::chrono::milliseconds;
using std::chrono::seconds;

class FailedGroups : public GroupsFixture {
  protected:
    FailedGroups() { begin(Policy::partial_reduce); }

    void forget_signals() {
        ours.take<control::Ready>();
        theirs.take<control::Ready>();
    }
    // Both nodes' workers have called, and this node alone has begun their group.
    control::GroupOrder begin_here(control::GroupId group) {
        our_call_ = average(worker_, buffer_);
        their_call_ = average(other_worker_, other_buffer_);
        const control::GroupOrder order = order_of(group, {other_worker_, worker_});
        give(order);
        EXPECT_EQ(worker_->state, Worker::State::moving);
        forget_signals();
        return order;
    }
    // The controller was told once that the group has failed here. Returns why.
    std::string failure_told(control::GroupId group) {
        const auto done = ours.take<control::GroupDone>();
        EXPECT_EQ(done.size(), 1U);
        if (done.empty()) return "";
        EXPECT_EQ(done[0].job, kJob);
        EXPECT_EQ(done[0].group, group);
        EXPECT_TRUE(done[0].failed);
        return done[0].reason;
    }
    void expect_ready_again() {
        EXPECT_FALSE(job_->is_exchanging());
        EXPECT_FALSE(has_ended(our_call_));
        EXPECT_TRUE(holds(buffer_, 3));
        EXPECT_EQ(ours.take<control::Ready>(), std::vector{ready_signal(worker_, 1)});
    }
    // The same members average in another group.
    void expect_another_goes_well(control::GroupId group) {
        listen();
        give_both(order_of(group, {other_worker_, worker_}));
        ASSERT_TRUE(is_done(our_call_) && is_done(their_call_));
        EXPECT_EQ(ending(our_call_).group, group);
        EXPECT_TRUE(holds(buffer_, 6.5F) && holds(other_buffer_, 6.5F));
    }
    static base::Error aborted() {
        return base::make_error(ErrorKind::aborted, "another node has failed");
    }

    uint64_t our_call_ = 0;
    uint64_t their_call_ = 0;
};

// ------------------------------------------------------------------------------------ refused here

constexpr const char* kNobodyWaits = "a worker that it names waits for no such group here";

TEST_F(FailedGroups, ThatNameAWorkerThatHasNotCalledAreRefused) {
    const uint64_t id = average(worker_, buffer_);
    forget_signals();
    control::GroupOrder order = order_of(5, {worker_});
    order.members.push_back({.rank = kSecond, .node = kSelf, .iteration = 1, .weight = 0.5});
    give(order);
    EXPECT_EQ(failure_told(5), kNobodyWaits);
    EXPECT_FALSE(has_ended(id));
    EXPECT_EQ(ours.take<control::Ready>(), std::vector{ready_signal(worker_, 1)})
        << "the controller took its signal for the group";
}

TEST_F(FailedGroups, OfAnotherIterationAreRefused) {
    average(worker_, buffer_, 2);
    control::GroupOrder order = order_of(5, {worker_});
    order.members[0].iteration = 1;
    give(order);
    EXPECT_EQ(failure_told(5), kNobodyWaits);
    EXPECT_TRUE(holds(buffer_, 3));
}

TEST_F(FailedGroups, OfOtherBuffersAreRefused) {
    average(worker_, buffer_);
    control::GroupOrder order = order_of(5, {worker_});
    ++order.digest;
    give(order);
    EXPECT_EQ(failure_told(5), kNobodyWaits);
    EXPECT_EQ(worker_->state, Worker::State::ready);
}

TEST_F(FailedGroups, OfNoMemberHereAreRefused) {
    average(other_worker_, other_buffer_);
    give(order_of(5, {other_worker_}));
    EXPECT_EQ(failure_told(5), kNobodyWaits);
}

TEST_F(FailedGroups, OfAWorkerThatIsInAnotherGroupAreRefused) {
    const control::GroupOrder order = begin_here(5);
    control::GroupOrder another = order;
    another.group = 6;
    give(another);
    EXPECT_EQ(failure_told(6), kNobodyWaits);
    EXPECT_TRUE(ours.take<control::Ready>().empty()) << "it is in the other group still";
    listen();
    give_there(order);
    EXPECT_TRUE(is_done(our_call_) && is_done(their_call_));
}

TEST_F(FailedGroups, UnderANumberThatIsInUseAreRefused) {
    const control::GroupOrder order = begin_here(5);
    const uint64_t other = average(second_, second_buffer_);
    forget_signals();
    give(order_of(5, {second_}));
    EXPECT_EQ(failure_told(5), "it is under way already");
    EXPECT_EQ(ours.take<control::Ready>(), std::vector{ready_signal(second_, 1)});
    EXPECT_FALSE(has_ended(other));
    listen();
    give_there(order);
    EXPECT_TRUE(is_done(our_call_)) << "the one under way is not disturbed";
    EXPECT_TRUE(holds(buffer_, 6.5F));
}

// -------------------------------------------------------------------------- failed, or given up

TEST_F(FailedGroups, ForALostNodeAreToldAndTriedAgain) {
    begin_here(5);
    lose_the_other_node();
    settle();
    EXPECT_NE(failure_told(5), "");
    expect_ready_again();
    (void)peers_.know(kOther, "other", other_transport_->address());
    expect_another_goes_well(6);
}

TEST_F(FailedGroups, WithANodeThatIsNotKnownAreToldAndTriedAgain) {
    lose_the_other_node();
    our_call_ = average(worker_, buffer_);
    average(other_worker_, other_buffer_);
    forget_signals();
    give(order_of(5, {other_worker_, worker_}));
    EXPECT_EQ(failure_told(5), "node 2 is not known (any more)");
    expect_ready_again();
}

TEST_F(FailedGroups, ThatTheControllerAbortsLeaveTheirMembersReady) {
    begin_here(5);
    testing::internal::CaptureStderr();
    job_->abort_group(5, aborted());
    settle();
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "") << "the controller logs it";
    EXPECT_EQ(failure_told(5), "another node has failed");
    expect_ready_again();
    expect_another_goes_well(6);
}

TEST_F(FailedGroups, ThatTheControllerAbortsLeaveOthersAlone) {
    const control::GroupOrder order = begin_here(5);
    job_->abort_group(6, aborted());
    settle();
    EXPECT_TRUE(ours.take<control::GroupDone>().empty());
    listen();
    give_there(order);
    EXPECT_TRUE(is_done(our_call_) && is_done(their_call_));
}

// The order itself comes no more.
TEST_F(FailedGroups, ThatAreAbortedBeforeTheyHaveBegunHereLeaveNothingOfWhatOthersSend) {
    average(worker_, buffer_);
    average(other_worker_, other_buffer_);
    listen();
    give_there(order_of(5, {other_worker_, worker_}));
    EXPECT_GT(unexpected(), 0U);
    job_->abort_group(5, aborted());
    settle();
    EXPECT_EQ(unexpected(), 0U);
    EXPECT_TRUE(ours.take<control::GroupDone>().empty());
}

TEST_F(FailedGroups, OfAnExcludedNodeAreGivenUpTogether) {
    begin_here(5);
    job_->invalidate(base::make_error(ErrorKind::aborted, "it was silent"));
    settle();
    EXPECT_FALSE(job_->is_exchanging());
    EXPECT_FALSE(has_ended(our_call_));
    EXPECT_TRUE(holds(buffer_, 3));
    commit_all(2);
    job_->resumed(worker_, false);
    (void)peers_.know(kOther, "other", other_transport_->address());
    expect_another_goes_well(6);
}

TEST_F(FailedGroups, OfAnotherViewGoOn) {
    const control::GroupOrder order = begin_here(5);
    prepare(2);
    settle();
    EXPECT_TRUE(job_->is_exchanging()) << "a view says nothing about ordered groups";
    commit_all(2);
    listen();
    give_there(order);
    EXPECT_TRUE(is_done(our_call_) && is_done(their_call_));
}

// A job of which a message found no memory.
TEST_F(FailedGroups, OfAJobWithoutMemoryEndTheCalls) {
    begin_here(5);
    const uint64_t waiting = average(second_, second_buffer_);
    job_->run_out_of_memory();
    settle();
    for (const uint64_t id : {waiting, our_call_}) {
        ASSERT_TRUE(has_ended(id));
        EXPECT_EQ(ending(id).kind, ErrorKind::memory);
    }
    EXPECT_FALSE(job_->is_exchanging());
    EXPECT_TRUE(job_->state().wants_view);
}

// ---------------------------------------------------------------------------------- cut
// connections

class CutGroups : public FailedGroups {
  protected:
    // No bytes come from the other node, and the controller does not know yet.
    void be_cut() {
        our_call_ = average(worker_, buffer_);
        their_call_ = average(other_worker_, other_buffer_);
        peers_.set_cut(kOther, true);
        forget_signals();
        give(order_of(5, {other_worker_, worker_}));
        EXPECT_EQ(failure_told(5), "no bytes come from node 'other'");
    }
};

TEST_F(CutGroups, AreNotTriedAgainAtOnce) {
    be_cut();
    pass(milliseconds(299));
    EXPECT_TRUE(ours.take<control::Ready>().empty());
    pass(milliseconds(1));
    EXPECT_EQ(ours.take<control::Ready>(), std::vector{ready_signal(worker_, 1)});
    pass(seconds(10));
    EXPECT_TRUE(ours.take<control::Ready>().empty());
    peers_.set_cut(kOther, false);
    expect_another_goes_well(6);
}

TEST_F(CutGroups, AreNotTriedAgainForACallThatIsCanceledMeanwhile) {
    be_cut();
    job_->cancel(worker_, our_call_);
    job_->withdrawn(kOurs);
    ASSERT_EQ(ending(our_call_).outcome, Outcome::canceled);
    pass(seconds(1));
    EXPECT_TRUE(ours.take<control::Ready>().empty());
}

TEST_F(CutGroups, AreNotTriedAgainForATrainerThatIsGone) {
    be_cut();
    job_->remove(worker_);
    pass(seconds(1));
    EXPECT_TRUE(ours.take<control::Ready>().empty());
}

// -------------------------------------------------------------------------------------------
// memory

// The memory that results form in goes from one exchange to the next.
class GroupMemory : public FailedGroups {
  protected:
    uint64_t paid() const { return services_.accounts->bytes_used(); }
    void average_in(control::GroupId group) {
        average(worker_, buffer_, group);
        average(other_worker_, other_buffer_, group);
        give_both(order_of(group, {other_worker_, worker_}));
    }
};

TEST_F(GroupMemory, IsThatOfTheGroupBefore) {
    listen();
    EXPECT_EQ(paid(), 0U);
    average_in(1);
    const uint64_t one = paid();
    EXPECT_GE(one, buffer_->bytes());
    for (control::GroupId group = 2; group < 10; ++group) average_in(group);
    EXPECT_EQ(paid(), one);
}

TEST_F(GroupMemory, IsKeptByGroupsThatFail) {
    listen();
    average_in(1);
    const uint64_t one = paid();
    begin_here(2);
    job_->abort_group(2, aborted());
    settle();
    EXPECT_EQ(paid(), one);
    give_both(order_of(3, {other_worker_, worker_}));
    EXPECT_TRUE(is_done(our_call_));
    EXPECT_EQ(paid(), one);
}

TEST_F(GroupMemory, IsNotSharedByTwoAtATime) {
    const WorkerPtr fourth = new_worker(4);
    fourth->port = &other_port_;
    other_job_->add(fourth);
    listen();
    average_in(1);
    const uint64_t one = paid();
    average(worker_, buffer_, 2);
    average(other_worker_, other_buffer_, 2);
    const control::GroupOrder slow = order_of(2, {other_worker_, worker_});
    give(slow);
    average(second_, second_buffer_, 2);
    Request called = average_of(buffer_of(kElements, 7), 2);
    other_job_->submit(fourth, std::move(called));
    control::GroupOrder fast = order_of(3, {second_});
    fast.members.push_back({.rank = 4, .node = kOther, .iteration = 2, .weight = 0.5});
    fast.members[0].weight = 0.5;
    give_both(fast);
    EXPECT_TRUE(holds(second_buffer_, 6)) << floats(*second_buffer_).front();
    EXPECT_EQ(paid(), 2 * one);
    give_there(slow);
    EXPECT_TRUE(holds(buffer_, 6.5F) && holds(other_buffer_, 6.5F));
}

// A round keeps its result for nodes that may have missed it. A group with those nodes shows that
// they have it.
TEST_F(GroupMemory, IsThatOfARoundWhoseResultAllHave) {
    listen();
    submit(worker_, request(Verb::sync, buffer_, 1));
    submit(second_, request(Verb::sync, second_buffer_, 1));
    submit(other_worker_, request(Verb::sync, other_buffer_, 1));
    ASSERT_TRUE(holds(buffer_, 6) && holds(other_buffer_, 6));
    const uint64_t of_the_round = paid();
    EXPECT_GE(of_the_round, buffer_->bytes());
    average_in(1);
    EXPECT_EQ(paid(), of_the_round);
}

}  // namespace
}  // namespace pace::daemon
