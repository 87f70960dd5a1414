// What a view that is committed decides: the number of the next round, and who has the last one.
#include "daemon/jobs/tests/two_nodes_fixture.h"

namespace pace::daemon {
namespace {

using protocol::Outcome;
using protocol::Verb;

// Views that this node has not prepared: it did not know the job then.
class Commit : public JobFixture {
  protected:
    static control::CommitView view_from(uint64_t base_round) {
        control::CommitView view;
        view.epoch = 17;
        view.base_round = base_round;
        view.members = {{0, kSelf, 0, 0}};
        return view;
    }
    // This node's part of a job, with worker 0.
    void open(control::Policy policy, uint32_t world, bool as_newcomer = true) {
        control::JobOptions options;
        options.name = "job";
        options.world = world;
        options.policy = policy;
        if (policy == control::Policy::ssp) options.elements = kElements;
        job_ = std::make_unique<Job>(services_, options, 0);
        worker_ = new_worker(0);
        worker_->newcomer = as_newcomer;
        job_->add(worker_);
    }
    uint64_t call(Verb verb) {
        Request called = request(verb, buffer_of(kElements, 1), 1);
        const uint64_t id = called.id;
        job_->submit(worker_, std::move(called));
        return id;
    }
    // The broadcast has been this round, and the job's next round is the one after it.
    void expect_round(uint64_t id, uint64_t round) {
        ASSERT_TRUE(until([&] { return port_.ended(id); }));
        EXPECT_EQ(port_.endings.at(id).outcome, Outcome::done);
        EXPECT_EQ(port_.endings.at(id).group, round);
        EXPECT_EQ(job_->rounds().completed(), round + 1);
    }

    static constexpr uint64_t kElements = 24;
    std::unique_ptr<Job> job_;
    WorkerPtr worker_;
};

// The newcomer lacks nothing, since there is no model: its broadcast is the next round of all.
TEST_F(Commit, ANewcomersBroadcastIsTheRoundWithWhichTheViewGoesOn) {
    open(control::Policy::all_reduce, 1);
    const uint64_t id = call(Verb::broadcast);
    control::CommitView view = view_from(5);
    view.adoptions = {{.newcomer = 0, .donor = control::kNoRank}};
    job_->commit(view);
    expect_round(id, 5);
}

// No broadcast has made the parameter server's model yet.
TEST_F(Commit, AServedNewcomersBroadcastIsPartOfTheFirstRound) {
    open(control::Policy::ssp, 1);
    const uint64_t id = call(Verb::broadcast);
    ASSERT_EQ(worker_->state, Worker::State::pulling);
    control::CommitView view = view_from(0);
    view.adoptions = {{.newcomer = 0, .donor = control::kNoRank}};
    view.shards = {kSelf};
    view.generation = 1;
    view.model_begins = true;
    job_->commit(view);
    expect_round(id, 0);
}

// The worker called pace_broadcast before there was a view. Its node was away when the first view
// began, and came back as the node of a newcomer.
class Away : public Commit {
  protected:
    Away() {
        open(control::Policy::partial_reduce, 2, false);
        id_ = call(Verb::broadcast);
        job_->resumed(worker_, true);
    }
    uint64_t id_ = 0;
};

// The others may have made the round, which nobody calls again then.
TEST_F(Away, ABroadcastAsksForTheModel) {
    EXPECT_EQ(worker_->state, Worker::State::adopting);
    EXPECT_TRUE(worker_->newcomer);
    control::CommitView view = view_from(1);
    view.members = {{0, kSelf, 0, 0}, {1, kOther, 0, 0}};
    view.adoptions = {{.newcomer = 0, .donor = 1}};
    job_->commit(view);
    turn();
    EXPECT_FALSE(port_.ended(id_)) << "as a round of this node alone";
}

TEST_F(Away, ABroadcastWhoseRoundNobodyHasMadeIsThatRound) {
    control::CommitView view = view_from(0);
    view.adoptions = {{.newcomer = 0, .donor = control::kNoRank}};
    job_->commit(view);
    expect_round(id_, 0);
}

// A newcomer whose trainer cancels the broadcast that was to bring the model.
class GivenUp : public Commit {
  protected:
    GivenUp() {
        open(control::Policy::all_reduce, 2);
        first_ = call(Verb::broadcast);
    }
    // The view has the newcomer as a member, and names a worker that is to give it the model.
    void commit() {
        control::CommitView view = view_from(5);
        view.members = {{0, kSelf, 0, 0}, {1, kOther, 0, 0}};
        view.adoptions = {{.newcomer = 0, .donor = 1}};
        job_->commit(view);
    }
    void expect_that_it_must_ask() {
        turn();
        ASSERT_TRUE(port_.ended(first_));
        EXPECT_EQ(port_.endings.at(first_).outcome, Outcome::canceled);
        const uint64_t id = call(Verb::reduce);
        turn();
        ASSERT_TRUE(port_.ended(id)) << "a gradient of an old model in the others' round";
        EXPECT_EQ(port_.endings.at(id).outcome, Outcome::stale);
        const uint64_t again = call(Verb::broadcast);
        turn();
        EXPECT_FALSE(port_.ended(again));
        EXPECT_EQ(worker_->state, Worker::State::adopting);
    }
    uint64_t first_ = 0;
};

TEST_F(GivenUp, MustAskForTheModelIfItWasToComeInALaterView) {
    job_->cancel(worker_, first_);
    commit();
    expect_that_it_must_ask();
}

TEST_F(GivenUp, MustAskForTheModelIfTheViewHasComeBefore) {
    commit();
    ASSERT_EQ(worker_->state, Worker::State::adopting);
    job_->cancel(worker_, first_);
    expect_that_it_must_ask();
}

TEST_F(GivenUp, EndsTheNextCallBeforeTheViewComes) {
    job_->cancel(worker_, first_);
    const uint64_t id = call(Verb::reduce);
    commit();
    turn();
    ASSERT_TRUE(port_.ended(id));
    EXPECT_EQ(port_.endings.at(id).outcome, Outcome::stale);
}

// The other node may have the result, in which the call's gradient is: the next view says so, and
// has this node fetch it. A worker whose call had been canceled would lack the round from then on.
class Undecided : public TwoNodes {
  protected:
    Undecided() {
        control::JobOptions options;
        options.policy = control::Policy::all_reduce;
        open(options);
        commit(1);
        id_ = call(Verb::reduce, buffer_of(24, 1));
        turn();
        lose_the_other_node();
        turn();
    }
    uint64_t id_ = 0;
};

TEST_F(Undecided, ACallWhoseRoundAnotherNodeMayHaveIsNotCanceled) {
    ASSERT_EQ(worker_->state, Worker::State::waiting) << "the round has failed here";
    job_->cancel(worker_, id_);
    turn();
    EXPECT_FALSE(port_.ended(id_));
    control::CommitView alone;
    alone.epoch = 2;
    alone.members = {{kOurs, kSelf, 0, 0}};
    job_->commit(alone);
    ASSERT_TRUE(until([this] { return port_.ended(id_); }));
    EXPECT_EQ(outcome_of(id_), Outcome::done);
}

TEST_F(Undecided, ACallWhoseRoundNobodyHasIsCanceledAgain) {
    const WorkerPtr late = new_worker(kTheirs);
    job_->add(late);
    control::CommitView here;
    here.epoch = 2;
    here.members = {{kTheirs, kSelf, 0, 0}, {kOurs, kSelf, 0, 0}};
    job_->commit(here);
    job_->cancel(worker_, id_);
    ASSERT_TRUE(until([this] { return port_.ended(id_); }));
    EXPECT_EQ(outcome_of(id_), Outcome::canceled);
}

}  // namespace
}  // namespace pace::daemon
