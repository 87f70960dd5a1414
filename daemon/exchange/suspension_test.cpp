// A worker that the controller takes out of its job: its request ends, or asks for its place again, wherever it was.
#include <optional>

#include "daemon/exchange/digest.h"
#include "daemon/exchange/job_fixture.h"

namespace pace::daemon {
namespace {

using protocol::Outcome;
using protocol::Verb;

constexpr uint64_t kElements = 100;

// A job with a worker on this node and one on another, which takes nothing off the network before it is told to.
class Suspension : public JobFixture {
  protected:
    static constexpr control::Rank kTheirs = 0;
    static constexpr control::Rank kOurs = 1;

    Suspension() {
        peers_.know(kOther, "other", other_transport_->address());
        other_peers_.know(kSelf, "self", transport_->address());
        other_services_.self = kOther;
        other_services_.control = link_.get();
        other_services_.exchange_began = [] {};
    }
    ~Suspension() override {
        if (listens_) loop_->remove_poller(other_transport_.get());
    }

    void open(control::JobOptions options) {
        options.name = "two nodes";
        options.world = 2;
        job_.emplace(services_, options, 0);
        other_job_.emplace(other_services_, options, 0);
        for (Job* job : {&*job_, &*other_job_}) job->state().token = kToken;
        other_worker_->port = &other_port_;
        job_->add(worker_);
        other_job_->add(other_worker_);
    }
    void commit(uint64_t epoch, const std::vector<NodeId>& behind = {}) {
        control::CommitView view;
        view.epoch = epoch;
        view.members = {{kTheirs, kOther, 0, 0}, {kOurs, kSelf, 0, 0}};
        view.base_round = std::max(job_->rounds().completed(), other_job_->rounds().completed());
        view.donor = kOther;
        view.behind = behind;
        job_->commit(view);
        other_job_->commit(view);
    }
    void prepare(uint64_t epoch) { job_->prepare({.job = 0, .epoch = epoch, .token = kToken}); }
    uint64_t call(Verb verb, const BufferPtr& buffer) {
        Request called = request(verb, buffer, 1);
        called.digest = digest_of(called.buffers);
        const uint64_t id = called.id;
        job_->submit(worker_, std::move(called));
        return id;
    }
    void listen() {
        loop_->add_poller(other_transport_.get());
        listens_ = true;
    }
    template <typename Condition>
    bool until(Condition condition) {
        const base::TimePoint deadline = base::now() + std::chrono::seconds(20);
        while (!condition() && base::now() < deadline) loop_->turn(false);
        return condition();
    }
    void lose_the_other_node() { peers_.forget(kOther); }
    Outcome outcome_of(uint64_t id) { return port_.endings.at(id).outcome; }

    static constexpr uint64_t kToken = 99;
    std::unique_ptr<transports::MemoryTransport> other_transport_ = network_.create();
    Peers other_peers_{*other_transport_};
    const std::unique_ptr<Services> own_other_services_ = std::make_unique<Services>(
        *loop_, *other_transport_, other_peers_, pool_, counters_, ExchangeOptions{}, disk_);
    Services& other_services_ = *own_other_services_;
    TestPort other_port_;
    std::optional<Job> job_;
    std::optional<Job> other_job_;
    WorkerPtr worker_ = new_worker(kOurs);
    WorkerPtr other_worker_ = new_worker(kTheirs);
    bool listens_ = false;
};

// ------------------------------------------------------------------- rounds that do not wait for all

class SuspensionInPartialRounds : public Suspension {
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

    const BufferPtr buffer_ = buffer_of(kElements, 3);
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

// The gradient counts.
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

// ------------------------------------------------------------------------------------------- groups

class SuspensionInGroups : public Suspension {
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

    const BufferPtr buffer_ = buffer_of(kElements, 3);
    uint64_t id_ = 0;
};

// The controller forms no group with whom it has taken out, whatever signal comes.
TEST_F(SuspensionInGroups, InTheMidstOfAGroupThatFailsAsksForItsPlaceAgain) {
    std::vector<control::Rank> asked;
    job_->state().advance = [&](const WorkerPtr& worker) { asked.push_back(worker->rank); };
    job_->suspend(kOurs, "cut off");
    lose_the_other_node();
    ASSERT_TRUE(until([&] { return !job_->is_exchanging(); }));
    EXPECT_EQ(asked, std::vector{kOurs});
    EXPECT_FALSE(port_.ended(id_));
}

}  // namespace
}  // namespace pace::daemon
