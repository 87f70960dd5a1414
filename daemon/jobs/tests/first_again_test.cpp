// A newcomer whose controller has lost its journal, and knows of nobody with a model: the newcomer
// is one of the job's first workers.
#include "daemon/jobs/tests/two_nodes_fixture.h"

namespace pace::daemon {
namespace {

using protocol::Outcome;
using protocol::Verb;

class FirstAgain : public TwoNodes {
  protected:
    void open_as_newcomer(control::JobOptions options) {
        open(std::move(options));
        worker_->newcomer = true;
    }
    static control::JobOptions all_reduce() {
        control::JobOptions options;
        options.policy = control::Policy::all_reduce;
        return options;
    }
    const BufferPtr ours_ = buffer_of(100, 3);
    const BufferPtr theirs_ = buffer_of(100, 4);
};

TEST_F(FirstAgain, ABroadcastThatWaitedForAModelIsARoundOfAll) {
    open_as_newcomer(all_reduce());
    const uint64_t id = call(Verb::broadcast, ours_);
    ASSERT_EQ(worker_->state, Worker::State::adopting);
    job_->resumed(worker_, false);
    EXPECT_FALSE(worker_->newcomer);
    EXPECT_EQ(worker_->state, Worker::State::waiting);
    call_there(Verb::broadcast, theirs_);
    commit(1);
    ASSERT_TRUE(until([&] { return port_.ended(id); }));
    EXPECT_EQ(outcome_of(id), Outcome::done);
    EXPECT_EQ(floats(*ours_).front(), 4) << "the root is on the other node";
}

TEST_F(FirstAgain, ASumOfAModelWithOtherRoundsIsStale) {
    open_as_newcomer(all_reduce());
    job_->came_again(*worker_, 3);
    const uint64_t id = call(Verb::reduce, ours_);
    ASSERT_FALSE(port_.ended(id));
    job_->resumed(worker_, false);
    ASSERT_TRUE(port_.ended(id));
    EXPECT_EQ(outcome_of(id), Outcome::stale);
    const uint64_t next = call(Verb::broadcast, ours_);
    EXPECT_FALSE(port_.ended(next)) << "it waits for the others";
}

TEST_F(FirstAgain, AMemberThatComesBackMakesItANewcomerAgain) {
    open_as_newcomer(all_reduce());
    const uint64_t id = call(Verb::broadcast, ours_);
    job_->resumed(worker_, false);
    job_->suspend(kOurs, "it joined while the job was under way");
    EXPECT_FALSE(port_.ended(id));
    EXPECT_TRUE(worker_->newcomer);
    EXPECT_EQ(worker_->state, Worker::State::adopting);
}

TEST_F(FirstAgain, APullOfAModelThatNobodyHasIsARoundOfAll) {
    control::JobOptions options;
    options.policy = control::Policy::asp;
    options.elements = 100;
    open_as_newcomer(options);
    const uint64_t id = call(Verb::broadcast, ours_);
    ASSERT_EQ(worker_->state, Worker::State::pulling);
    job_->resumed(worker_, false);
    EXPECT_FALSE(port_.ended(id));
    EXPECT_EQ(worker_->state, Worker::State::waiting);
}

}  // namespace
}  // namespace pace::daemon
