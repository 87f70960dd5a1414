// Workers that announce their next average while they compute, and orders that come before their
// calls.
#include <chrono>

#include "daemon/jobs/tests/groups/groups_fixture.h"

namespace pace::daemon {
namespace {

using control::Policy;
using control::ReadyStage;
using protocol::Verb;
using std::chrono::milliseconds;
using std::chrono::seconds;

// The workers here have averaged once, with iteration 1.
class Announcements : public GroupsFixture {
  protected:
    Announcements() {
        begin(Policy::partial_reduce);
        listen();
        average(worker_, buffer_);
        average(second_, second_buffer_);
        give(order_of(1, {worker_, second_}));
        forget_what_was_said();
        std::ranges::fill(floats(*buffer_), 3.0F);
        std::ranges::fill(floats(*second_buffer_), 5.0F);
    }
    void forget_what_was_said() {
        for (HeardController* controller : {&ours, &theirs}) {
            controller->take<control::Ready>();
            controller->take<control::GroupDone>();
        }
    }
    void announce(const WorkerPtr& worker, uint64_t iteration) {
        job_->announce(worker, iteration);
        settle();
    }
    control::Ready announced(const WorkerPtr& worker, uint64_t iteration) const {
        return ready_signal(worker, iteration, ReadyStage::announced);
    }
    control::Ready arrived(const WorkerPtr& worker, uint64_t iteration) const {
        return ready_signal(worker, iteration, ReadyStage::arrived);
    }
    static control::Withdraw taken_back(const WorkerPtr& worker) {
        return {.job = kJob, .rank = worker->rank, .unanswered = true};
    }
    // The controller was told once that the group has failed here, and why.
    void expect_refused(control::GroupId group, const std::string& reason) {
        const auto done = ours.take<control::GroupDone>();
        ASSERT_EQ(done.size(), 1U);
        EXPECT_EQ(done[0].group, group);
        EXPECT_TRUE(done[0].failed);
        EXPECT_EQ(done[0].reason, reason);
    }
    void expect_refused(control::GroupId group) {
        expect_refused(group, "a worker that it names has not called as announced");
    }
    // The second worker has called. The first has announced its call, and is not there yet.
    control::GroupOrder hold_an_order(control::GroupId group) {
        announce(worker_, 2);
        second_call_ = average(second_, second_buffer_, 2);
        forget_what_was_said();
        const control::GroupOrder early = order_of(group, {worker_, second_});
        give(early);
        EXPECT_TRUE(ours.take<control::GroupDone>().empty());
        EXPECT_EQ(second_->state, Worker::State::ready);
        return early;
    }

    uint64_t second_call_ = 0;
};

// ------------------------------------------------------------------------------------
// announcements

TEST_F(Announcements, SayWithWhatTheWorkerWillCall) {
    announce(worker_, 2);
    EXPECT_EQ(ours.take<control::Ready>(), std::vector{announced(worker_, 2)});
    announce(worker_, 2);
    EXPECT_TRUE(ours.take<control::Ready>().empty()) << "it is said already";
    EXPECT_TRUE(ours.take<control::Withdraw>().empty());
    announce(worker_, 3);
    EXPECT_EQ(ours.take<control::Withdraw>(), std::vector{taken_back(worker_)});
    EXPECT_EQ(ours.take<control::Ready>(), std::vector{announced(worker_, 3)});
}

TEST_F(Announcements, OfAWorkerThatWaitsAlreadySayNothing) {
    average(worker_, buffer_, 2);
    forget_what_was_said();
    announce(worker_, 3);
    EXPECT_TRUE(ours.take<control::Ready>().empty());
}

TEST_F(Announcements, OfANewcomerSayNothing) {
    worker_->newcomer = true;
    announce(worker_, 2);
    EXPECT_TRUE(ours.take<control::Ready>().empty());
}

// Nobody knows yet which buffers it averages.
TEST_F(Announcements, BeforeAWorkersFirstAverageSayNothing) {
    const WorkerPtr third = new_worker(3);
    job_->add(third);
    announce(third, 2);
    EXPECT_TRUE(ours.take<control::Ready>().empty());
}

TEST_F(Announcements, AreFollowedByTheCallThatTheyAnnounced) {
    announce(worker_, 2);
    ours.take<control::Ready>();
    average(worker_, buffer_, 2);
    EXPECT_EQ(ours.take<control::Ready>(), std::vector{arrived(worker_, 2)});
    EXPECT_TRUE(ours.take<control::Withdraw>().empty());
}

TEST_F(Announcements, AreTakenBackByACallWithAnotherIteration) {
    announce(worker_, 2);
    ours.take<control::Ready>();
    average(worker_, buffer_, 4);
    EXPECT_EQ(ours.take<control::Withdraw>(), std::vector{taken_back(worker_)});
    EXPECT_EQ(ours.take<control::Ready>(), std::vector{ready_signal(worker_, 4)});
}

TEST_F(Announcements, AreTakenBackByACallWithOtherBuffers) {
    announce(worker_, 2);
    ours.take<control::Ready>();
    average(worker_, buffer_of(kElements + 1, 3), 2);
    EXPECT_EQ(ours.take<control::Withdraw>(), std::vector{taken_back(worker_)});
    const auto said = ours.take<control::Ready>();
    ASSERT_EQ(said.size(), 1U);
    EXPECT_EQ(said[0].stage, ReadyStage::called);
}

TEST_F(Announcements, AreTakenBackByAnotherVerb) {
    announce(worker_, 2);
    submit(worker_, request(Verb::barrier, buffer_, 2));
    EXPECT_EQ(ours.take<control::Withdraw>(), std::vector{taken_back(worker_)});
}

TEST_F(Announcements, AreTakenBackIfTheTrainerSaysSo) {
    announce(worker_, 2);
    job_->take_back(worker_);
    EXPECT_EQ(ours.take<control::Withdraw>(), std::vector{taken_back(worker_)});
    job_->take_back(worker_);
    EXPECT_TRUE(ours.take<control::Withdraw>().empty());
}

// A controller that was restarted knows nothing of the announcement.
TEST_F(Announcements, AreMadeAgainAfterAnotherAttachment) {
    announce(worker_, 2);
    ours.take<control::Ready>();
    job_->resumed(worker_, false);
    EXPECT_EQ(ours.take<control::Ready>(), std::vector{announced(worker_, 2)});
    job_->resumed(second_, false);
    EXPECT_TRUE(ours.take<control::Ready>().empty()) << "this one has announced nothing";
}

// ------------------------------------------------------------------------------------- early
// orders

using EarlyOrders = Announcements;

TEST_F(EarlyOrders, WaitForTheCall) {
    announce(worker_, 2);
    const uint64_t theirs_called = average(other_worker_, other_buffer_, 2);
    give_both(order_of(5, {other_worker_, worker_}));
    EXPECT_FALSE(has_ended(theirs_called));
    EXPECT_TRUE(holds(other_buffer_, 10));
    const uint64_t id = average(worker_, buffer_, 2);
    ASSERT_TRUE(is_done(id) && is_done(theirs_called));
    EXPECT_EQ(ending(id).group, 5U);
    EXPECT_TRUE(holds(buffer_, 6.5F) && holds(other_buffer_, 6.5F));
    pass(seconds(10));
    const auto done = ours.take<control::GroupDone>();
    ASSERT_EQ(done.size(), 1U) << "nobody gives up what has ended";
    EXPECT_FALSE(done[0].failed);
}

TEST_F(EarlyOrders, WaitForTheLastOfTheMembersHere) {
    announce(worker_, 2);
    announce(second_, 2);
    give(order_of(5, {worker_, second_}));
    const uint64_t first = average(second_, second_buffer_, 2);
    EXPECT_FALSE(has_ended(first));
    const uint64_t last = average(worker_, buffer_, 2);
    EXPECT_TRUE(is_done(first) && is_done(last));
    EXPECT_TRUE(holds(buffer_, 4) && holds(second_buffer_, 4));
}

TEST_F(EarlyOrders, AreRefusedIfAMemberCallsWithAnotherIteration) {
    hold_an_order(5);
    const uint64_t id = average(worker_, buffer_, 4);
    expect_refused(5);
    EXPECT_EQ(ours.take<control::Ready>(),
              (std::vector{ready_signal(second_, 2), ready_signal(worker_, 4)}))
        << "both are ready for other groups";
    EXPECT_FALSE(has_ended(id) || has_ended(second_call_));
}

TEST_F(EarlyOrders, AreRefusedIfAMemberTakesItsAnnouncementBack) {
    hold_an_order(5);
    job_->take_back(worker_);
    expect_refused(5);
    EXPECT_EQ(ours.take<control::Ready>(), std::vector{ready_signal(second_, 2)});
}

TEST_F(EarlyOrders, AreRefusedIfAMembersTrainerIsGone) {
    hold_an_order(5);
    job_->remove(worker_);
    expect_refused(5);
    EXPECT_EQ(ours.take<control::Ready>(), std::vector{ready_signal(second_, 2)});
}

// Its other nodes may not have been told of it.
TEST_F(EarlyOrders, OfAnEarlierAttachmentAreRefused) {
    hold_an_order(5);
    job_->resumed(worker_, false);
    expect_refused(5);
    EXPECT_EQ(ours.take<control::Ready>(),
              (std::vector{ready_signal(second_, 2), announced(worker_, 2)}));
}

TEST_F(EarlyOrders, ThatTheControllerAbortsAreGivenUp) {
    hold_an_order(5);
    job_->abort_group(5, base::make_error(base::ErrorKind::aborted, "another node has failed"));
    expect_refused(5);
    EXPECT_EQ(ours.take<control::Ready>(), std::vector{ready_signal(second_, 2)});
    const uint64_t id = average(worker_, buffer_, 2);
    EXPECT_FALSE(has_ended(id)) << "nothing is left of the order";
    EXPECT_EQ(ours.take<control::Ready>(), std::vector{arrived(worker_, 2)});
}

TEST_F(EarlyOrders, AreVoidIfTheNodeIsExcluded) {
    hold_an_order(5);
    job_->invalidate(base::make_error(base::ErrorKind::aborted, "it was silent"));
    const uint64_t id = average(worker_, buffer_, 2);
    pass(seconds(10));
    EXPECT_FALSE(has_ended(id) || has_ended(second_call_));
    EXPECT_TRUE(ours.take<control::GroupDone>().empty());
    give(order_of(6, {worker_, second_}));
    EXPECT_TRUE(is_done(id) && is_done(second_call_)) << "the calls wait for another order";
}

// The other nodes of the group need not wait for the progress deadline.
TEST_F(EarlyOrders, ThatAreRefusedEndTheGroupOnOtherNodesToo) {
    announce(worker_, 2);
    const uint64_t id = average(other_worker_, other_buffer_, 2);
    give_both(order_of(5, {other_worker_, worker_}));
    theirs.take<control::Ready>();
    job_->take_back(worker_);
    settle();
    pass(milliseconds(150));
    look_at_stalls();
    EXPECT_FALSE(other_job_->is_exchanging());
    EXPECT_FALSE(has_ended(id)) << "it waits for another group";
    EXPECT_EQ(theirs.take<control::Ready>(), std::vector{ready_signal(other_worker_, 2)});
    EXPECT_TRUE(holds(other_buffer_, 10));
}

// ------------------------------------------------------------------------------ how long they wait

struct Patience {
    const char* name;
    base::Duration announced_before;  // before the order came
    base::Duration waited;
};

class Holds : public Announcements, public testing::WithParamInterface<Patience> {};

TEST_P(Holds, EndAfterHalfOfTheStepsTime) {
    announce(worker_, 2);
    const uint64_t waiting = average(second_, second_buffer_, 2);
    pass(GetParam().announced_before);
    forget_what_was_said();
    give(order_of(5, {worker_, second_}));
    pass(GetParam().waited - milliseconds(1));
    EXPECT_TRUE(ours.take<control::GroupDone>().empty());
    pass(milliseconds(1));
    expect_refused(5);
    EXPECT_EQ(ours.take<control::Ready>(), std::vector{ready_signal(second_, 2)});
    EXPECT_FALSE(has_ended(waiting));
    average(worker_, buffer_, 2);
    EXPECT_EQ(ours.take<control::Ready>(), std::vector{arrived(worker_, 2)});
}

INSTANTIATE_TEST_SUITE_P(
    All, Holds,
    testing::Values(Patience{"OfAnOrdinaryOne", milliseconds(400), milliseconds(200)},
                    Patience{"OfAShortOneNotAtOnce", milliseconds(2), milliseconds(20)},
                    Patience{"OfALongOneNotForLong", seconds(30), milliseconds(500)}),
    [](const auto& patience) { return std::string(patience.param.name); });

// The slower member's step would allow for more.
TEST_F(EarlyOrders, WaitAsLongAsTheFastestOfThoseThatTheyWaitForAllows) {
    announce(worker_, 2);
    pass(milliseconds(600));
    announce(second_, 2);
    pass(milliseconds(200));
    give(order_of(5, {worker_, second_}));
    pass(milliseconds(99));
    EXPECT_TRUE(ours.take<control::GroupDone>().empty());
    pass(milliseconds(1));
    expect_refused(5);
}

}  // namespace
}  // namespace pace::daemon
