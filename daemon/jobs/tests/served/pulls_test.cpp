#include "daemon/families/serving/pulls.h"

#include <algorithm>
#include <atomic>
#include <thread>

#include "daemon/jobs/tests/job_fixture.h"
#include "daemon/members/silent_job.h"

namespace pace::daemon {
namespace {

using protocol::Outcome;
using protocol::Verb;

constexpr uint64_t kPulledElements = 8;

control::JobOptions served() {
    control::JobOptions options;
    options.name = "served";
    options.world = 1;
    options.policy = control::Policy::ssp;
    options.elements = kPulledElements;
    return options;
}

control::CommitView view_of(std::vector<NodeId> shards) {
    control::CommitView view;
    view.epoch = 1;
    view.members = {{0, 1, 0, 0}};
    view.shards = std::move(shards);
    view.generation = 1;
    view.model_begins = true;
    return view;
}

// A worker that pulls a model whose halves two nodes keep.
class PullsTest : public JobFixture {
  protected:
    PullsTest() {
        EXPECT_TRUE(host_.commit(view_of({kSelf, kOther}), kSelf));
        job_.workers[0] = worker_;
    }
    // Returns the request's id.
    uint64_t ask(const BufferPtr& buffer, uint64_t clock, uint64_t first = 0) {
        Request pull = request(Verb::pull, buffer, clock);
        pull.first = first;
        const uint64_t id = pull.id;
        worker_->queue.push_back(std::move(pull));
        worker_->state = Worker::State::pulling;
        pulls_->ask(worker_, clock, 0);
        return id;
    }
    void comes(uint32_t shard, float value, uint64_t position, uint64_t clock, size_t count = 4) {
        pulls_->add(
            {shard, 0, clock, position, 0, server::Floats::of(std::vector<float>(count, value))});
    }
    std::unique_ptr<Pulls> new_pulls() {
        return std::make_unique<Pulls>(job_, host_,
                                       [this](const WorkerPtr& worker, uint64_t, uint64_t) {
                                           job_.end_head(worker, Ending{});
                                       });
    }
    // From now on all work counts as large, and its end is told in another turn of the loop.
    void go_aside() {
        services_.options.inline_bytes_max = 0;
        pulls_ = new_pulls();
    }
    void turn() {
        for (int i = 0; i < 10; ++i) loop_->turn(false);
    }
    static std::vector<float> values(Buffer& buffer) {
        return {floats(buffer).begin(), floats(buffer).end()};
    }

    SilentJob silent_;
    JobState job_{services_, silent_, served(), 1000};
    ShardHost host_{kPulledElements, false, {Accounts::create(), 0}, {}};
    WorkerPtr worker_ = new_worker(0);
    std::unique_ptr<Pulls> pulls_ = new_pulls();
};

TEST_F(PullsTest, EndWithAllOfTheModelAtOnePosition) {
    const BufferPtr buffer = buffer_of(kPulledElements, 0);
    const uint64_t pull = ask(buffer, 3);
    comes(0, 1, 10, 3);
    comes(1, 2, 11, 3);
    EXPECT_FALSE(port_.ended(pull)) << "its halves are of two moments";
    comes(1, 3, 10, 3);
    ASSERT_TRUE(port_.ended(pull));
    EXPECT_EQ(values(*buffer), (std::vector<float>{1, 1, 1, 1, 3, 3, 3, 3}));
    EXPECT_FALSE(pulls_->asks(0));
}

TEST_F(PullsTest, TakeAPartThatIsRepeatedOnce) {
    const BufferPtr buffer = buffer_of(kPulledElements, 0);
    const uint64_t pull = ask(buffer, 3);
    comes(0, 1, 10, 3);
    comes(0, 2, 10, 3);
    EXPECT_FALSE(port_.ended(pull)) << "half of the model is not here";
    comes(1, 3, 10, 3);
    ASSERT_TRUE(port_.ended(pull));
    comes(1, 4, 10, 3);
    EXPECT_EQ(values(*buffer), (std::vector<float>{1, 1, 1, 1, 3, 3, 3, 3}));
}

TEST_F(PullsTest, EndWithTheirRequestWhateverEndsItAndTouchNoLaterCall) {
    const BufferPtr first = buffer_of(kPulledElements, -1);
    const uint64_t pull = ask(first, 3);
    comes(0, 1, 10, 3);
    job_.end_all(worker_, ended_as(Outcome::stale, "this worker lost its place"));
    ASSERT_TRUE(port_.ended(pull));
    EXPECT_FALSE(pulls_->asks(0));

    const BufferPtr second = buffer_of(kPulledElements, -2);
    Request barrier = request(Verb::barrier, second, 0);
    const uint64_t next = barrier.id;
    worker_->queue.push_back(std::move(barrier));
    comes(1, 1, 10, 3);
    pulls_->ask_again();
    comes(0, 1, 12, 3);
    comes(1, 1, 12, 3);
    EXPECT_FALSE(port_.ended(next)) << "the barrier took a pull's end for its own";
    EXPECT_EQ(values(*first), std::vector<float>(kPulledElements, -1));
    EXPECT_EQ(values(*second), std::vector<float>(kPulledElements, -2));
}

TEST_F(PullsTest, OfOneClockTakeNothingThatWasForOtherElements) {
    const uint64_t all = ask(buffer_of(kPulledElements, 0), 3);
    job_.end_all(worker_, ended_as(Outcome::canceled, "canceled"));
    ASSERT_TRUE(port_.ended(all));
    const BufferPtr some = buffer_of(6, 0);
    const uint64_t pull = ask(some, 3, 2);
    comes(0, 7, 10, 3);
    comes(1, 7, 10, 3);
    EXPECT_FALSE(port_.ended(pull));
    comes(0, 1, 11, 3, 2);
    comes(1, 2, 11, 3);
    ASSERT_TRUE(port_.ended(pull));
    EXPECT_EQ(values(*some), (std::vector<float>{1, 1, 2, 2, 2, 2}));
}

// The pushes wait for a node that says nothing, and the pull waits for the pushes.
TEST_F(PullsTest, OfAWorkerThatLosesItsPlaceEndOnceWithItsPushes) {
    Job job(services_, served(), 1000);
    job.state().id = 1;
    job.add(worker_);
    job.commit(view_of({kOther, kOther}));
    const BufferPtr buffer = buffer_of(kPulledElements, 1);
    constexpr uint64_t kPushes = Pushes::kWindow + 1;
    for (uint64_t clock = 0; clock < kPushes; ++clock)
        job.submit(worker_, request(Verb::push, buffer, clock));
    job.submit(worker_, request(Verb::pull, buffer, kPushes));
    ASSERT_EQ(port_.endings.size(), Pushes::kWindow);
    job.refuse(worker_, base::make_error(base::ErrorKind::taken, "another one has its rank"));
    EXPECT_EQ(port_.endings.size(), kPushes + 1);
    EXPECT_TRUE(worker_->queue.empty());
    job.remove(worker_);
}

// ---------------------------------------------------------------------- the memory beside the loop

TEST_F(PullsTest, EndWhenTheirBuffersAreWritten) {
    go_aside();
    const BufferPtr buffer = buffer_of(kPulledElements, 0);
    const uint64_t pull = ask(buffer, 3);
    comes(0, 1, 10, 3);
    EXPECT_FALSE(pulls_->is_writing(0));
    comes(1, 2, 10, 3);
    EXPECT_FALSE(port_.ended(pull));
    EXPECT_TRUE(pulls_->is_writing(0));
    // Parts that come meanwhile are of no use.
    pulls_->ask_again();
    comes(0, 3, 11, 3);
    comes(1, 3, 11, 3);
    turn();
    ASSERT_TRUE(port_.ended(pull));
    EXPECT_EQ(values(*buffer), (std::vector<float>{1, 1, 1, 1, 2, 2, 2, 2}));
    EXPECT_FALSE(pulls_->asks(0));
}

TEST_F(PullsTest, WhoseRequestEndsWhileTheyAreWrittenEndNoOther) {
    go_aside();
    const uint64_t pull = ask(buffer_of(kPulledElements, 0), 3);
    comes(0, 1, 10, 3);
    comes(1, 2, 10, 3);
    job_.end_all(worker_, ended_as(Outcome::stale, "this worker lost its place"));
    ASSERT_TRUE(port_.ended(pull));
    const BufferPtr buffer = buffer_of(kPulledElements, -1);
    const uint64_t next = ask(buffer, 3);
    turn();
    EXPECT_FALSE(port_.ended(next));
    EXPECT_EQ(values(*buffer), std::vector<float>(kPulledElements, -1));
}

TEST_F(PullsTest, OfAWorkerThatLosesItsPlaceWhileItsPushIsTakenEndOnceWithIt) {
    go_aside();
    Job job(services_, served(), 1000);
    job.state().id = 1;
    job.add(worker_);
    job.commit(view_of({kSelf, kSelf}));
    const BufferPtr buffer = buffer_of(kPulledElements, 1);
    job.submit(worker_, request(Verb::push, buffer, 0));
    job.submit(worker_, request(Verb::push, buffer, 1));
    EXPECT_TRUE(port_.endings.empty()) << "they are being taken";
    job.refuse(worker_, base::make_error(base::ErrorKind::taken, "another one has its rank"));
    EXPECT_EQ(port_.endings.size(), 2U);
    turn();
    EXPECT_EQ(worker_->calls, 0U) << "a push that had ended was taken";
    job.remove(worker_);
}

TEST_F(PullsTest, APushIsTakenAnewIfAnotherModelBeginsMeanwhile) {
    go_aside();
    Job job(services_, served(), 1000);
    job.state().id = 1;
    job.add(worker_);
    control::CommitView view = view_of({kSelf, kSelf});
    job.commit(view);
    const Request push = request(Verb::push, buffer_of(kPulledElements, 1), 0);
    job.submit(worker_, push);
    ++view.epoch;
    ++view.generation;
    job.commit(view);
    EXPECT_FALSE(port_.ended(push.id));
    turn();
    ASSERT_TRUE(port_.ended(push.id));
    EXPECT_EQ(port_.endings.at(push.id).outcome, Outcome::done);
    EXPECT_EQ(port_.endings.at(push.id).contributors, 1U);
    EXPECT_EQ(worker_->calls, 1U);
    job.remove(worker_);
}

TEST(Writing, TouchesNothingOnceItIsStopped) {
    Writing writing;
    std::atomic<bool> stopped = false;
    std::atomic<int> pieces = 0;
    std::atomic<int> late = 0;
    const auto write = [&] {
        while (!writing.is_stopped())
            writing.write([&] {
                ++pieces;
                if (stopped) ++late;
            });
    };
    std::thread first(write);
    std::thread second(write);
    while (pieces < 100) std::this_thread::yield();
    writing.stop();
    stopped = true;
    first.join();
    second.join();
    EXPECT_EQ(late, 0);
}

}  // namespace
}  // namespace pace::daemon
