// A worker that the controller takes out of its job: its request ends, or asks for its place again,
// wherever it was.
#include <utility>

#include "daemon/jobs/tests/two_nodes_fixture.h"
#include "daemon/members/silent_job.h"

namespace pace::daemon {
namespace {

using protocol::Outcome;
using protocol::Verb;

constexpr uint64_t kBufferElements = 100;

// ----------------------------------------------------------------- rounds that do not wait for all

class SuspensionInPartialRounds : public TwoNodes {
  protected:
    SuspensionInPartialRounds() {
        control::JobOptions options;
        options.policy = control::Policy::all_reduce;
        options.quorum = control::Quorum::solo;
        open(options);
        commit(1);
        id_ = call(Verb::reduce, buffer_);
        EXPECT_TRUE(job_->rounds().is_exchanging());
    }
    void fail_the_round() {
        lose_the_other_node();
        ASSERT_TRUE(until([&] { return !job_->rounds().is_exchanging(); }));
        ASSERT_FALSE(port_.ended(id_)) << "the round is done anew in the next view";
    }

    const BufferPtr buffer_ = buffer_of(kBufferElements, 3);
    uint64_t id_ = 0;
};

TEST_F(SuspensionInPartialRounds, AfterARoundThatHasFailedEndsTheCallThatWasInIt) {
    fail_the_round();
    job_->suspend(kOurs, "cut off");
    ASSERT_TRUE(port_.ended(id_)) << "no view will have this worker, and nobody ends its call";
    EXPECT_EQ(outcome_of(id_), Outcome::stale);
    EXPECT_EQ(floats(*buffer_).front(), 3);
}

TEST_F(SuspensionInPartialRounds, BetweenTwoViewsEndsTheCallThatWasInARound) {
    fail_the_round();
    prepare(2);
    job_->suspend(kOurs, "cut off");
    ASSERT_TRUE(port_.ended(id_));
    EXPECT_EQ(outcome_of(id_), Outcome::stale);
}

TEST_F(SuspensionInPartialRounds, InTheMidstOfARoundThatIsStoppedEndsTheCall) {
    job_->suspend(kOurs, "late");
    ASSERT_FALSE(port_.ended(id_)) << "the round reads the buffer";
    prepare(2);
    ASSERT_TRUE(until([&] { return port_.ended(id_); }));
    EXPECT_EQ(outcome_of(id_), Outcome::stale);
}

// The worker's gradient counts.
TEST_F(SuspensionInPartialRounds, InTheMidstOfARoundThatEndsWellGivesItsResult) {
    job_->suspend(kOurs, "late");
    listen();
    ASSERT_TRUE(until([&] { return port_.ended(id_); }));
    EXPECT_EQ(outcome_of(id_), Outcome::done);
    EXPECT_EQ(port_.endings.at(id_).contributors, 1U);
    EXPECT_EQ(floats(*buffer_).front(), 1.5F)
        << "the mean of two workers, one of which gave nothing";
    const uint64_t next = call(Verb::reduce, buffer_);
    EXPECT_EQ(outcome_of(next), Outcome::stale);
}

// A controller that has lost its journal first took the successor of a dead worker for one of the
// job's first. Nobody else knows the view of the round any more, so that the round may never end.
TEST_F(SuspensionInPartialRounds, InTheMidstOfARoundWithoutTheWorkerAsksForAModel) {
    job_->remove(worker_);
    ASSERT_TRUE(job_->rounds().is_exchanging());
    const WorkerPtr successor = new_worker(kOurs);
    successor->newcomer = true;
    job_->add(successor);
    Request broadcast = request(Verb::broadcast, buffer_of(kBufferElements, 4), 0);
    const uint64_t id = broadcast.id;
    job_->submit(successor, std::move(broadcast));
    job_->resumed(successor, false);
    ASSERT_EQ(successor->state, Worker::State::waiting);
    job_->suspend(kOurs, "it joined while the job was under way");
    EXPECT_FALSE(port_.ended(id));
    EXPECT_EQ(successor->state, Worker::State::adopting);
}

// ------------------------------------------------------------------------------------------ groups

class SuspensionInGroups : public TwoNodes {
  protected:
    SuspensionInGroups() {
        control::JobOptions options;
        options.policy = control::Policy::partial_reduce;
        options.group_size = 2;
        open(options);
        commit(1);
        id_ = call(Verb::average, buffer_);
        control::GroupOrder order;
        order.group = 5;
        order.epoch = 1;
        order.iteration = 1;
        order.members = {{.rank = kTheirs, .node = kOther, .iteration = 1, .weight = 0.5},
                         {.rank = kOurs, .node = kSelf, .iteration = 1, .weight = 0.5}};
        order.digest = worker_->head().digest;
        job_->order(order);
        EXPECT_EQ(worker_->state, Worker::State::moving);
    }

    const BufferPtr buffer_ = buffer_of(kBufferElements, 3);
    uint64_t id_ = 0;
};

// The controller forms no group with a worker that it has taken out, whatever signal comes.
TEST_F(SuspensionInGroups, InTheMidstOfAGroupThatFailsAsksForItsPlaceAgain) {
    struct Spy final : SilentJob {
        void advance(const WorkerPtr& worker) override { asked.push_back(worker->rank); }
        std::vector<control::Rank> asked;
    } spy;
    JobPort* const own = std::exchange(job_->state().port, &spy);
    job_->suspend(kOurs, "cut off");
    lose_the_other_node();
    ASSERT_TRUE(until([&] { return !job_->is_exchanging(); }));
    job_->state().port = own;
    EXPECT_EQ(spy.asked, std::vector{kOurs});
    EXPECT_FALSE(port_.ended(id_));
}

}  // namespace
}  // namespace pace::daemon
