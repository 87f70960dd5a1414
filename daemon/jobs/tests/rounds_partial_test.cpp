// Rounds that do not wait for the slow, at one node, with every pass over memory made off the loop.
#include <algorithm>
#include <vector>

#include "base/random.h"
#include "daemon/jobs/tests/job_fixture.h"

namespace pace::daemon {
namespace {

using protocol::Outcome;
using protocol::Verb;

constexpr uint64_t kGradientElements = 50'000;

class PartialJob : public JobFixture {
  protected:
    PartialJob() { services_.options.inline_bytes_max = 0; }

    static control::JobOptions options_of(uint32_t world) {
        control::JobOptions options;
        options.name = "partial";
        options.world = world;
        options.policy = control::Policy::all_reduce;
        options.quorum = control::Quorum::solo;
        return options;
    }
    void begin(uint32_t world) {
        job_ = std::make_unique<Job>(services_, options_of(world), 1000);
        job_->state().id = 1;
        control::CommitView view;
        view.job = 1;
        view.epoch = 1;
        for (uint32_t rank = 0; rank < world; ++rank) {
            workers_.push_back(new_worker(rank));
            buffers_.push_back(buffer_of(kGradientElements, 0));
            job_->add(workers_.back());
            view.members.push_back({rank, kSelf, 0, 0});
        }
        job_->commit(view);
    }
    uint64_t reduce(size_t rank, float value) {
        std::ranges::fill(floats(*buffers_[rank]), value);
        Request reduce = request(Verb::reduce, buffers_[rank], steps_++);
        reduce.op = protocol::ReduceOp::sum;
        const uint64_t id = reduce.id;
        job_->submit(workers_[rank], std::move(reduce));
        return id;
    }
    uint64_t barrier(size_t rank) {
        Request barrier = request(Verb::barrier, buffers_[rank], 0);
        barrier.buffers.clear();
        barrier.elements = barrier.ready = 0;
        const uint64_t id = barrier.id;
        job_->submit(workers_[rank], std::move(barrier));
        return id;
    }
    bool until_ended(uint64_t id) {
        const base::TimePoint deadline = base::now() + std::chrono::seconds(20);
        while (!port_.ended(id) && base::now() < deadline) loop_->turn(false);
        return port_.ended(id);
    }
    const Ending& finish(uint64_t id) {
        EXPECT_TRUE(until_ended(id));
        EXPECT_EQ(port_.endings[id].outcome, Outcome::done) << port_.endings[id].message;
        return port_.endings[id];
    }
    void expect_all(size_t rank, float value) {
        const auto own = floats(*buffers_[rank]);
        EXPECT_TRUE(std::ranges::all_of(own, [value](float each) { return each == value; }))
            << "rank " << rank << " has " << own.front() << " .. " << own.back();
    }

    std::unique_ptr<Job> job_;
    std::vector<WorkerPtr> workers_;
    std::vector<BufferPtr> buffers_;
    uint64_t steps_ = 0;
};

TEST_F(PartialJob, GivesALateWorkerWhatItHasMissedAndTakesWhatItBrings) {
    begin(2);
    finish(reduce(0, 1));
    expect_all(0, 1);
    finish(reduce(0, 2));
    const Ending& late = finish(reduce(1, 100));
    EXPECT_TRUE(late.late);
    EXPECT_EQ(late.rounds, 2U);
    expect_all(1, 3);
    const Ending& next = finish(reduce(0, 4));
    EXPECT_EQ(next.contributors, 2U);
    expect_all(0, 104);
}

// Barriers have numbers too, but no sum.
TEST_F(PartialJob, TellsALateWorkerTheRoundOfTheLastSumAndNotThatOfABarrier) {
    begin(2);
    finish(reduce(0, 1));
    const uint64_t newest = finish(reduce(0, 2)).group;
    EXPECT_EQ(newest, 1U);
    for (uint64_t round = newest + 1; round < newest + 4; ++round) {
        const uint64_t first = barrier(0);
        EXPECT_EQ(finish(barrier(1)).group, round);
        EXPECT_EQ(finish(first).group, round);
    }
    const Ending& late = finish(reduce(1, 100));
    EXPECT_TRUE(late.late);
    EXPECT_EQ(late.rounds, 2U);
    EXPECT_EQ(late.group, newest);
    EXPECT_EQ(finish(reduce(0, 4)).group, newest + 4);
    expect_all(0, 104);
}

// The second call came between the result and the end of its delivery.
TEST_F(PartialJob, AWorkerThatCallsWhileAResultIsDeliveredGetsItAndCountsInTheNextRound) {
    begin(2);
    const uint64_t first = reduce(0, 1);
    ASSERT_FALSE(port_.ended(first)) << "nothing is done beside the loop";
    const uint64_t second = reduce(1, 10);
    finish(first);
    finish(second);
    finish(reduce(0, 100));
    finish(reduce(1, 1000));
    finish(reduce(0, 0));
    finish(reduce(1, 0));
    finish(reduce(0, 0));
    // Every gradient is in one result, and every result reaches every worker.
    float sum = 0;
    for (const auto& [id, ending] : port_.endings) sum += static_cast<float>(ending.rounds);
    EXPECT_GE(sum, 7);
}

TEST_F(PartialJob, WhatIsKeptForTheSlowIsChargedToTheUser) {
    const auto paid = [this] { return services_.accounts->used_by(1000).bytes; };
    constexpr uint64_t kBytes = kGradientElements * sizeof(float);
    begin(2);
    finish(reduce(0, 1));
    EXPECT_GE(paid(), kBytes) << "the sum that the late worker is to get";
    finish(reduce(1, 1));
    const uint64_t given = paid();
    EXPECT_GE(given, kBytes) << "its gradient";
    finish(reduce(0, 1));
    job_.reset();
    for (int turn = 0; turn < 5; ++turn) loop_->turn(false);
    EXPECT_EQ(paid(), 0U);
}

TEST_F(PartialJob, AWorkerThatLeavesInTheMiddleOfEverythingDisturbsNobody) {
    for (uint64_t seed = 1; seed <= 10; ++seed) {
        SCOPED_TRACE(seed);
        base::Random random(seed);
        begin(3);
        std::vector<uint64_t> open(3, 0);
        bool is_there = true;
        for (int step = 0; step < 60; ++step) {
            for (size_t rank = 0; rank < 3; ++rank) {
                if (rank == 2 && !is_there) continue;
                const bool is_free = open[rank] == 0 || port_.ended(open[rank]);
                if (is_free && random.below(rank == 0 ? 1 : 4) == 0) open[rank] = reduce(rank, 1);
            }
            if (is_there && step > 20 && random.below(8) == 0) {
                job_->remove(workers_[2]);
                is_there = false;
            }
            for (size_t turns = random.below(3); turns > 0; --turns) loop_->turn(false);
        }
        for (size_t rank = 0; rank < 2; ++rank)
            EXPECT_TRUE(open[rank] == 0 || until_ended(open[rank])) << "rank " << rank;
        job_.reset();
        workers_.clear();
        buffers_.clear();
        port_.endings.clear();
    }
}

// The daemon is excluded, and the job goes on in another view, with the worker that was in the
// middle of a call.
TEST_F(PartialJob, ACallThatIsBeingAnsweredEndsAlsoWhenTheViewIsVoid) {
    begin(2);
    finish(reduce(0, 1));
    const uint64_t late = reduce(1, 10);
    const uint64_t delivered = reduce(0, 2);
    job_->invalidate(base::make_error(base::ErrorKind::aborted, "excluded"));
    EXPECT_TRUE(until_ended(late));
    control::CommitView view;
    view.job = 1;
    view.epoch = 2;
    view.members = {{0, kSelf, 0, 0}, {1, kSelf, 0, 0}};
    view.base_round = job_->rounds().completed();
    job_->commit(view);
    EXPECT_TRUE(until_ended(delivered));
    finish(reduce(0, 1));
    finish(reduce(1, 1));
}

TEST_F(PartialJob, EndsInTheMiddleOfEverything) {
    for (size_t turns = 0; turns < 12; ++turns) {
        begin(2);
        reduce(0, 1);
        for (size_t turn = 0; turn < turns; ++turn) loop_->turn(false);
        reduce(1, 1);
        loop_->turn(false);
        job_.reset();
        for (int turn = 0; turn < 5; ++turn) loop_->turn(false);
        workers_.clear();
        buffers_.clear();
    }
}

}  // namespace
}  // namespace pace::daemon
