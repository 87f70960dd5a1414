// This node has no memory for what an exchange needs, or for a residual: the calls end with that
// error.
#include <string>

#include "daemon/jobs/tests/two_nodes_fixture.h"

namespace pace::daemon {
namespace {

using base::ErrorKind;
using protocol::Outcome;
using protocol::Verb;

// More bytes than any machine has, of which one page is there.
BufferPtr vast() {
    auto buffer = std::make_shared<Buffer>();
    buffer->memory = base::MappedMemfd::create("vast", 1, false).value();
    buffer->count = uint64_t{1} << 58U;
    return buffer;
}

class NoMemory : public TwoNodes {
  protected:
    void begin(control::Quorum quorum) {
        control::JobOptions options;
        options.policy = control::Policy::all_reduce;
        options.quorum = quorum;
        open(options);
        commit(1);
    }
    void expect_no_memory(uint64_t id) {
        ASSERT_TRUE(until([&] { return port_.ended(id); }));
        EXPECT_EQ(outcome_of(id), Outcome::failed);
        EXPECT_EQ(port_.endings.at(id).kind, ErrorKind::memory);
        EXPECT_NE(worker_->state, Worker::State::moving);
    }
};

TEST_F(NoMemory, ForTheResultOfARoundEndsTheCalls) {
    begin(control::Quorum::all);
    expect_no_memory(call(Verb::reduce, vast()));
}

TEST_F(NoMemory, ForTheResultOfARoundThatDoesNotWaitForAllEndsTheCalls) {
    begin(control::Quorum::solo);
    const uint64_t ours = call(Verb::reduce, vast());
    call_there(Verb::reduce, vast());
    listen();
    expect_no_memory(ours);
}

TEST_F(NoMemory, ForTheResultOfAGroupEndsTheCalls) {
    control::JobOptions options;
    options.policy = control::Policy::partial_reduce;
    options.group_size = 2;
    open(options);
    commit(1);
    const uint64_t ours = call(Verb::average, vast());
    control::GroupOrder order;
    order.group = 5;
    order.epoch = 1;
    order.members = {{.rank = kTheirs, .node = kOther, .iteration = 1, .weight = 0.5},
                     {.rank = kOurs, .node = kSelf, .iteration = 1, .weight = 0.5}};
    order.digest = worker_->head().digest;
    job_->order(order);
    expect_no_memory(ours);
}

TEST_F(NoMemory, ForTheResultOfAStaticGroupEndsTheCalls) {
    control::JobOptions options;
    options.policy = control::Policy::prague_static;
    open(options);
    commit(1);
    expect_no_memory(call(Verb::average, vast()));
}

// ------------------------------------------------------------------------------ residuals of top-k

class Debts : public JobFixture {
  protected:
    Debts() {
        options_.name = "owes";
        options_.world = 1;
        options_.policy = control::Policy::all_reduce;
        options_.compression = control::Compression::spardl;
        options_.density = 0.01;
        options_.hierarchy = control::Hierarchy::flat;
        options_.dense_fallback = control::DenseFallback::never;
    }
    void open() {
        services_.users[1] = 1000;
        job_.emplace(services_, options_, 1000);
        job_->state().id = 1;
        job_->add(worker_);
        commit(1);
    }
    void commit(uint64_t epoch) {
        control::CommitView view;
        view.job = 1;
        view.epoch = epoch;
        view.members = {{0, kSelf, 0, 0}};
        view.base_round = job_->rounds().completed();
        job_->commit(view);
    }
    const Ending& call(Verb verb, const BufferPtr& buffer) {
        Request called = request(verb, buffer, 1);
        called.digest = digest_of(called.buffers);
        const uint64_t id = called.id;
        job_->submit(worker_, std::move(called));
        const base::TimePoint deadline = base::now() + std::chrono::seconds(20);
        while (!port_.ended(id) && base::now() < deadline) loop_->turn(false);
        EXPECT_TRUE(port_.ended(id));
        return port_.endings[id];
    }
    uint64_t paid() const { return services_.accounts->used_by(1000).bytes; }

    control::JobOptions options_;
    WorkerPtr worker_ = new_worker(0);
    std::optional<Job> job_;
};

TEST_F(Debts, ForWhichThereIsNoMemoryAreNone) {
    open();
    EXPECT_EQ(call(Verb::residual_load, vast()).kind, ErrorKind::memory);
    commit(2);  // looks at all residuals that there are
    EXPECT_FALSE(job_->owes());
    EXPECT_EQ(call(Verb::residual_load, buffer_of(100, 1)).outcome, Outcome::done);
}

// The residual, and the next such vector, which an exchange makes.
TEST_F(Debts, AreChargedToTheUser) {
    open();
    EXPECT_EQ(call(Verb::residual_load, buffer_of(1000, 1)).outcome, Outcome::done);
    EXPECT_GE(paid(), 2 * 1000 * sizeof(float));
    job_.reset();
    EXPECT_EQ(paid(), 0U);
}

TEST_F(Debts, ThatPassTheUsersLimitAreRefused) {
    services_.accounts = Accounts::create({.user_bytes_max = 1 << 20U});
    open();
    uint64_t refused = 0;
    for (uint64_t count = 10'000; count < 10'100; ++count) {
        const Ending& ending = call(Verb::residual_load, buffer_of(count, 1));
        if (ending.outcome == Outcome::done) continue;
        EXPECT_EQ(ending.kind, ErrorKind::limit) << ending.message;
        EXPECT_NE(ending.message.find("user_bytes_max"), std::string::npos) << ending.message;
        ++refused;
    }
    EXPECT_GE(refused, 87U);
    EXPECT_LE(paid(), uint64_t{1} << 20U);
}

TEST_F(Debts, OfSoManySetsOfBuffersAreRefused) {
    open();
    uint64_t count = 1;
    while (count < 10'000 &&
           call(Verb::residual_load, buffer_of(count, 1)).outcome == Outcome::done)
        ++count;
    ASSERT_LT(count, 10'000U) << "there is no end of them";
    EXPECT_EQ(call(Verb::residual_load, buffer_of(count, 1)).kind, ErrorKind::limit);
    EXPECT_EQ(call(Verb::residual_load, buffer_of(1, 1)).outcome, Outcome::done);
}

}  // namespace
}  // namespace pace::daemon
