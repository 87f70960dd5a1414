// Averages of buffers that are made while they travel: a group begins with what is made.
#include "daemon/jobs/tests/groups/groups_fixture.h"

namespace pace::daemon {
namespace {

using control::Policy;
using protocol::Order;
using protocol::Outcome;
using protocol::Verb;
using std::chrono::milliseconds;
using std::chrono::seconds;

class GrowingGroups : public GroupsFixture {
  protected:
    GrowingGroups() {
        for (Services* services : {&services_, &other_services_})
            services->options.piece_bytes = collectives::kCutBytes;
        begin(Policy::partial_reduce);
        listen();
    }
    // The first `ready` elements are made. A buffer has four pieces.
    uint64_t begin_average(const WorkerPtr& worker, const BufferPtr& buffer, uint64_t ready) {
        Request called = average_of(buffer, 1);
        called.order = Order::forward;
        called.digest = digest_of(called.buffers, called.order);
        called.ready = ready;
        return submit(worker, std::move(called));
    }
    void make(const WorkerPtr& worker, uint64_t id, uint64_t ready) {
        (is_theirs(worker) ? other_job_ : job_)->ready(worker, id, ready);
        settle();
    }
    control::Ready signal_of(const WorkerPtr& worker) const {
        control::Ready ready = ready_signal(worker, 1);
        ready.digest = digest_of({pieces_}, Order::forward);
        return ready;
    }
    // All workers have called, and the one here has made nothing yet.
    void begin_all(uint64_t ready) {
        id_ = begin_average(worker_, pieces_, ready);
        second_id_ = begin_average(second_, second_pieces_, kMany);
        other_id_ = begin_average(other_worker_, other_pieces_, kMany);
        ours.take<control::Ready>();
        theirs.take<control::Ready>();
        give_both(order_of(5, {other_worker_, worker_, second_}));
    }

    static constexpr uint64_t kMany = 4 * collectives::kCutBytes / sizeof(float);
    const BufferPtr pieces_ = buffer_of(kMany, 3);
    const BufferPtr second_pieces_ = buffer_of(kMany, 5);
    const BufferPtr other_pieces_ = buffer_of(kMany, 10);
    uint64_t id_ = 0;
    uint64_t second_id_ = 0;
    uint64_t other_id_ = 0;
};

TEST_F(GrowingGroups, FormAtTheCallAndEndWhenAllIsMade) {
    id_ = begin_average(worker_, pieces_, 0);
    EXPECT_EQ(ours.take<control::Ready>(), std::vector{signal_of(worker_)});
    begin_average(second_, second_pieces_, kMany);
    other_id_ = begin_average(other_worker_, other_pieces_, kMany);
    give_both(order_of(5, {other_worker_, worker_, second_}));
    EXPECT_TRUE(job_->is_exchanging());
    make(worker_, id_, kMany - 1);
    EXPECT_FALSE(has_ended(id_) || has_ended(other_id_));
    make(worker_, id_, kMany);
    EXPECT_TRUE(is_done(id_) && is_done(other_id_));
    for (const BufferPtr& buffer : {pieces_, second_pieces_, other_pieces_})
        EXPECT_TRUE(holds(buffer, 6));
}

TEST_F(GrowingGroups, SendWhatIsMadeBeforeTheRest) {
    begin_all(0);
    const uint64_t at_first = transport_->counters().bytes_sent;
    make(worker_, id_, kMany / 2);
    const uint64_t half = transport_->counters().bytes_sent;
    EXPECT_GT(half, at_first);
    make(worker_, id_, kMany);
    EXPECT_GT(transport_->counters().bytes_sent, half);
    EXPECT_TRUE(is_done(id_));
}

TEST_F(GrowingGroups, SendWhatTheSlowestMemberOfTheNodeHasMade) {
    id_ = begin_average(worker_, pieces_, kMany / 2);
    second_id_ = begin_average(second_, second_pieces_, 0);
    other_id_ = begin_average(other_worker_, other_pieces_, kMany);
    give_both(order_of(5, {other_worker_, worker_, second_}));
    const uint64_t at_first = transport_->counters().bytes_sent;
    make(worker_, id_, kMany);
    EXPECT_EQ(transport_->counters().bytes_sent, at_first);
    make(second_, second_id_, kMany / 2);
    EXPECT_GT(transport_->counters().bytes_sent, at_first);
    make(second_, second_id_, kMany);
    EXPECT_TRUE(is_done(id_) && is_done(second_id_) && is_done(other_id_));
    EXPECT_TRUE(holds(pieces_, 6));
}

TEST_F(GrowingGroups, OfThisNodeAloneWaitForAllThatIsMade) {
    id_ = begin_average(worker_, pieces_, 0);
    second_id_ = begin_average(second_, second_pieces_, kMany);
    give(order_of(5, {worker_, second_}));
    EXPECT_FALSE(has_ended(second_id_));
    make(worker_, id_, kMany);
    EXPECT_TRUE(is_done(id_) && is_done(second_id_));
    EXPECT_TRUE(holds(pieces_, 4) && holds(second_pieces_, 4));
}

TEST_F(GrowingGroups, TakeWhatWasMadeBetweenTheCallAndTheOrder) {
    id_ = begin_average(worker_, pieces_, 0);
    make(worker_, id_, kMany);
    second_id_ = begin_average(second_, second_pieces_, kMany);
    give(order_of(5, {worker_, second_}));
    EXPECT_TRUE(is_done(id_) && is_done(second_id_));
}

// ------------------------------------------------------------------------------ what is never made

class StuckGroups : public GrowingGroups {
  protected:
    // The worker here makes nothing for longer than others wait.
    void make_nothing() {
        begin_all(kMany / 2);
        pass(milliseconds(1001));
        look_at_stalls();
        EXPECT_FALSE(job_->is_exchanging());
    }
};

TEST_F(StuckGroups, AreWaitedForAWhile) {
    begin_all(kMany / 2);
    pass(milliseconds(999));
    look_at_stalls();
    EXPECT_TRUE(job_->is_exchanging());
    make(worker_, id_, kMany / 2 + collectives::kCutBytes / sizeof(float));
    pass(milliseconds(999));
    look_at_stalls();
    EXPECT_TRUE(job_->is_exchanging()) << "it has made something since";
    make(worker_, id_, kMany);
    EXPECT_TRUE(is_done(id_));
}

TEST_F(StuckGroups, GoOnWithoutTheWorkerThatMakesNothing) {
    make_nothing();
    const auto done = ours.take<control::GroupDone>();
    ASSERT_EQ(done.size(), 1U);
    EXPECT_EQ(done[0].reason, "a member of its group has made nothing ready for 1001 ms");
    EXPECT_EQ(ours.take<control::Ready>(), std::vector{signal_of(second_)});
    EXPECT_FALSE(has_ended(id_) || has_ended(second_id_));
    EXPECT_EQ(wait_of(worker_), "its own buffers to be made ready (pace_request_ready)");
    give(order_of(6, {second_}));
    EXPECT_TRUE(is_done(second_id_));
}

TEST_F(StuckGroups, TakeTheWorkerAgainWhenItHasMadeAll) {
    make_nothing();
    ours.take<control::Ready>();
    make(worker_, id_, kMany - 1);
    EXPECT_TRUE(ours.take<control::Ready>().empty());
    make(worker_, id_, kMany);
    EXPECT_EQ(ours.take<control::Ready>(), std::vector{signal_of(worker_)});
    give(order_of(6, {worker_, second_}));
    EXPECT_TRUE(is_done(id_) && is_done(second_id_));
    EXPECT_TRUE(holds(pieces_, 4) && holds(second_pieces_, 4));
}

TEST_F(StuckGroups, SayThatTheWorkerComputes) {
    make_nothing();
    pass(milliseconds(500));
    control::Heartbeat heartbeat;
    job_->report(heartbeat);
    ASSERT_EQ(heartbeat.workers.size(), 2U);
    EXPECT_EQ(heartbeat.workers[0].rank, kOurs);
    EXPECT_EQ(heartbeat.workers[0].activity, control::Activity::computing);
    EXPECT_EQ(heartbeat.workers[0].busy_ms, 500U);
    EXPECT_NE(heartbeat.workers[1].activity, control::Activity::computing);
}

// No signal of it is with the controller.
TEST_F(StuckGroups, LetTheWorkersCallBeCanceledAtOnce) {
    make_nothing();
    job_->cancel(worker_, id_);
    ASSERT_TRUE(has_ended(id_));
    EXPECT_EQ(ending(id_).outcome, Outcome::canceled);
    EXPECT_TRUE(ours.take<control::Withdraw>().empty());
}

TEST_F(StuckGroups, SayNothingOfTheWorkerAfterAnotherAttachment) {
    make_nothing();
    ours.take<control::Ready>();
    job_->resumed(worker_, false);
    EXPECT_TRUE(ours.take<control::Ready>().empty());
    make(worker_, id_, kMany);
    EXPECT_EQ(ours.take<control::Ready>(), std::vector{signal_of(worker_)});
}

TEST_F(StuckGroups, AreGivenUpIfTheTrainerIsGone) {
    begin_all(kMany / 2);
    job_->remove(worker_);
    settle();
    EXPECT_FALSE(job_->is_exchanging());
    const auto done = ours.take<control::GroupDone>();
    ASSERT_EQ(done.size(), 1U);
    EXPECT_EQ(done[0].reason,
              "the trainer of worker 1 is gone before all of its buffers was ready");
    EXPECT_EQ(ours.take<control::Ready>(), std::vector{signal_of(second_)});
    EXPECT_TRUE(holds(second_pieces_, 5));
}

TEST_F(StuckGroups, GoOnIfTheTrainerIsGoneThatHasMadeAll) {
    id_ = begin_average(worker_, pieces_, kMany);
    second_id_ = begin_average(second_, second_pieces_, 0);
    give(order_of(5, {worker_, second_}));
    job_->remove(worker_);
    settle();
    EXPECT_TRUE(job_->is_exchanging());
    make(second_, second_id_, kMany);
    EXPECT_TRUE(is_done(second_id_));
    EXPECT_TRUE(holds(second_pieces_, 4));
}

}  // namespace
}  // namespace pace::daemon
