// Operations under way when their job, request or view ends call nobody back.
#include <algorithm>
#include <new>
#include <optional>
#include <utility>

#include "daemon/exchange/giving.h"
#include "daemon/jobs/engine.h"
#include "daemon/jobs/tests/other_node_fixture.h"
#include "daemon/members/digest.h"
#include "daemon/members/silent_job.h"
#include "daemon/runtime/exchange_number.h"

namespace pace::daemon {
namespace {

using protocol::Outcome;
using protocol::Verb;

constexpr uint64_t kModelElements = 100'000;

// This node's part of jobs, and another node that gives it models, or nothing.
class Lifetime : public WithOtherNode {
  protected:
    Lifetime() { listen(); }

    static control::JobOptions options_of(const std::string& name, control::Policy policy) {
        control::JobOptions options;
        options.name = name;
        options.world = 2;
        options.policy = policy;
        options.group_size = 2;
        return options;
    }
    static control::CommitView view_of(control::JobId job, uint64_t epoch) {
        control::CommitView view;
        view.job = job;
        view.epoch = epoch;
        view.members = {{0, kOther, 0, 0}, {1, kSelf, 0, 0}};
        return view;
    }
    void let_all_arrive() {
        while (network_.progress()) loop_->turn(false);
        loop_->turn(false);
    }
};

// ------------------------------------------------------------------------------------- unused jobs

class UnusedJobs : public Lifetime {
  protected:
    UnusedJobs() { services_.options.unused_keep = std::chrono::milliseconds(50); }

    Seat open(const std::string& name, control::JobId id, control::Policy policy) {
        std::optional<Seat> got;
        JoinRequest request;
        request.rank = 1;
        request.options = options_of(name, policy);
        const uint64_t ticket = engine_.join(
            request, &port_, [&got](base::Result<Seat> seat) { got = std::move(*seat); });
        engine_.on(
            control::JoinAccepted{.request = ticket,
                                  .job = id,
                                  .rank = 1,
                                  .options = protocol::write_options(options_of(name, policy)),
                                  .token = id});
        return *got;
    }

    Engine engine_{services_};
};

TEST_F(UnusedJobs, AreForgottenEachInItsOwnTimeAndNotInTheMiddleOfAnExchange) {
    engine_.died(open("idle", 1, control::Policy::partial_reduce), {});
    const Seat seat = open("busy", 2, control::Policy::all_reduce);
    engine_.on(view_of(2, 1));
    engine_.submit(seat, request(Verb::reduce, buffer_of(kModelElements, 1), 0));
    ASSERT_EQ(seat.worker->state, Worker::State::moving);
    engine_.died(seat, {});
    ASSERT_TRUE(until([&] { return engine_.jobs() < 2; }));
    EXPECT_EQ(engine_.jobs(), 1U) << "a job went with the exchange that it was in";
    peers_.forget(kOther);  // ends the exchange
    EXPECT_TRUE(until([&] { return engine_.jobs() == 0; }));
}

// ----------------------------------------------------------------------------- peers that are gone

// Nobody says again which peers went while this daemon had no controller.
TEST_F(UnusedJobs, APeerThatTheControllerDoesNotNameIsForgottenAWhileAfterAttaching) {
    services_.options.unnamed_keep = std::chrono::milliseconds(50);
    const auto third = network_.create();
    (void)peers_.know(3, "third", third->address());
    engine_.on_attached(kSelf);
    EXPECT_TRUE(peers_.peer(kOther)) << "it may be on its way to a controller that was restarted";
    engine_.on(control::NodeKnown{3, "third", third->address()});
    ASSERT_TRUE(until([&] { return !peers_.peer(kOther); }));
    EXPECT_TRUE(peers_.peer(3));
}

// -------------------------------------------------------------- jobs that are over, here or at all

class EndedJobs : public UnusedJobs {
  protected:
    EndedJobs() { services_.options.unused_keep = std::chrono::hours(1); }

    // Memory that is charged to a user.
    BufferPtr paid_buffer() {
        BufferPtr buffer = buffer_of(kModelElements, 1);
        buffer->charge =
            services_.accounts->charge(0, {.bytes = buffer->bytes(), .buffers = 1}, "a buffer")
                .value();
        return buffer;
    }
    uint64_t paid() const { return services_.accounts->bytes_used(); }
    // A worker of job 1 that waits for the other node in an exchange.
    Seat exchanging(control::Policy policy = control::Policy::all_reduce) {
        const Seat seat = open("busy", 1, policy);
        engine_.on(view_of(1, 1));
        engine_.submit(seat, request(Verb::reduce, buffer_of(kModelElements, 1), 0));
        EXPECT_EQ(seat.worker->state, Worker::State::moving);
        EXPECT_GT(paid(), 0U);
        return seat;
    }
};

TEST_F(EndedJobs, LeaveNothingBehind) {
    engine_.died(open("over", 1, control::Policy::partial_reduce), {paid_buffer()});
    const Seat other = open("goes on", 2, control::Policy::partial_reduce);
    engine_.on(control::JobEnded{.job = 1, .token = 2});
    EXPECT_EQ(engine_.jobs(), 2U) << "that was another job, which has had this number";
    EXPECT_GT(paid(), 0U);
    engine_.on(control::JobEnded{.job = 1, .token = 1});
    EXPECT_EQ(engine_.jobs(), 1U);
    EXPECT_EQ(paid(), 0U) << "buffers of a dead worker of a job that is over";
    engine_.on(control::JobEnded{.job = 2, .token = 2});
    EXPECT_EQ(engine_.jobs(), 1U) << "it has a worker here, which the controller hears of anew";
}

TEST_F(EndedJobs, EndWhatTheyHaveUnderWay) {
    engine_.died(exchanging(), {});
    engine_.on(control::JobEnded{.job = 1, .token = 1});
    EXPECT_TRUE(until([&] { return engine_.jobs() == 0 && paid() == 0; }));
}

// The other members can use what the worker has handed in.
TEST_F(EndedJobs, EndWhatTheyHaveUnderWayByThemselvesIfOthersGoOn) {
    engine_.died(exchanging(), {});
    engine_.on(control::PartEnded{.job = 1, .token = 1});
    let_all_arrive();
    EXPECT_EQ(engine_.jobs(), 1U);
    peers_.forget(kOther);  // ends the exchange
    EXPECT_TRUE(until([&] { return engine_.jobs() == 0 && paid() == 0; }));
}

// The taker has heard of the job's end before, and takes nothing.
TEST_F(EndedJobs, GiveNothingAnyMore) {
    for (const bool part_ended_before : {false, true}) {
        engine_.died(open("over", 1, control::Policy::all_reduce), {});
        const BufferPtr debt = paid_buffer();
        (void)Giving::give_held(services_, {1, "what a node owed", kOther, 5}, 7, 0,
                                {debt->memory.data(), debt->bytes()}, debt);
        if (part_ended_before) engine_.on(control::PartEnded{.job = 1, .token = 1});
        engine_.on(control::JobEnded{.job = 1, .token = 1});
        const std::weak_ptr<Buffer> given = debt;
        let_all_arrive();
        EXPECT_EQ(given.use_count(), 1) << part_ended_before;
    }
    EXPECT_EQ(paid(), 0U);
}

TEST_F(EndedJobs, LeaveASuccessorWhatADeadWorkerHadIfOthersGoOn) {
    engine_.died(open("goes on", 1, control::Policy::partial_reduce), {paid_buffer()});
    engine_.on(control::PartEnded{.job = 1, .token = 1});
    EXPECT_EQ(engine_.jobs(), 0U);
    const Seat again = open("goes on", 1, control::Policy::partial_reduce);
    EXPECT_NE(engine_.inherit(again, protocol::DType::f32, kModelElements, nullptr), nullptr);
}

TEST_F(EndedJobs, WhatASuccessorHasNotTakenGoesWithItsFirstCall) {
    engine_.died(open("goes on", 1, control::Policy::partial_reduce),
                 {paid_buffer(), paid_buffer()});
    const Seat again = open("goes on", 1, control::Policy::partial_reduce);
    const BufferPtr taken = engine_.inherit(again, protocol::DType::f32, kModelElements, nullptr);
    ASSERT_NE(taken, nullptr);
    EXPECT_EQ(paid(), 2 * taken->bytes());
    engine_.submit(again, request(Verb::broadcast, taken, 0));
    EXPECT_EQ(paid(), taken->bytes());
}

// --------------------------------------------------------------------------------------- no memory

// The memory runs out in the middle of handling a message of the controller.
TEST_F(UnusedJobs, AMessageForWhichThereIsNoMemoryCostsItsJobAlone) {
    services_.options.unused_keep = std::chrono::hours(1);
    const Seat other = open("other", 1, control::Policy::all_reduce);
    const Seat seat = open("starved", 2, control::Policy::partial_reduce);
    engine_.on(view_of(2, 1));
    engine_.submit(seat, request(Verb::average, buffer_of(kModelElements, 1), 1));
    ASSERT_EQ(seat.worker->state, Worker::State::ready);
    struct Starved final : SilentJob {
        void group_begins(const std::vector<NodeId>& /*nodes*/) override { throw std::bad_alloc(); }
    } starved;
    JobPort* const own = std::exchange(seat.job->state().port, &starved);
    control::GroupOrder order;
    order.job = 2;
    order.group = 5;
    order.epoch = 1;
    order.members = {{.rank = 1, .node = kSelf, .iteration = 1, .weight = 1.0}};
    order.digest = seat.worker->head().digest;
    engine_.on(order);
    seat.job->state().port = own;
    ASSERT_EQ(port_.endings.size(), 1U);
    EXPECT_EQ(port_.endings.begin()->second.kind, base::ErrorKind::memory);
    EXPECT_TRUE(seat.worker->queue.empty());
    EXPECT_EQ(seat.worker->state, Worker::State::idle);
    EXPECT_TRUE(seat.job->state().wants_view);
    EXPECT_FALSE(other.job->state().wants_view);
}

// -------------------------------------------------------------------------- what outlives its job

TEST_F(Lifetime, AnExchangeThatOutlivesItsJobEndsByItself) {
    auto job =
        std::make_unique<Job>(services_, options_of("short", control::Policy::all_reduce), 0);
    const WorkerPtr worker = new_worker(1);
    job->add(worker);
    job->commit(view_of(0, 1));
    job->submit(worker, request(Verb::reduce, buffer_of(kModelElements, 1), 0));
    ASSERT_TRUE(services_.active.any());
    job.reset();
    EXPECT_TRUE(until([&] { return !services_.active.any(); }));
    EXPECT_TRUE(port_.endings.empty());
}

TEST_F(Lifetime, ATransferThatOutlivesItsJobEndsWithTheTransport) {
    auto job =
        std::make_unique<Job>(services_, options_of("short", control::Policy::partial_reduce), 0);
    const WorkerPtr newcomer = new_worker(1);
    newcomer->newcomer = true;
    job->add(newcomer);
    job->submit(newcomer, request(Verb::broadcast, buffer_of(kModelElements, 1), 0));
    ASSERT_EQ(newcomer->state, Worker::State::adopting);
    control::CommitView view = view_of(0, 1);
    view.adoptions = {{.newcomer = 1, .donor = 0}};
    job->commit(view);
    ASSERT_EQ(newcomer->state, Worker::State::adopting) << "waits for the donor's boundary";
    job.reset();
    transport_->end();
    loop_->settle(base::now() + std::chrono::seconds(1));
    EXPECT_TRUE(port_.endings.empty());
}

// --------------------------------------------------------------------------------------- adoptions

class AdoptionTest : public Lifetime {
  protected:
    AdoptionTest() {
        job_.state().token = kToken;
        job_.add(newcomer_);
        newcomer_->newcomer = true;
    }
    uint64_t call(const BufferPtr& buffer) {
        Request broadcast = request(Verb::broadcast, buffer, 0);
        broadcast.digest = digest_of(broadcast.buffers);
        const uint64_t id = broadcast.id;
        job_.submit(newcomer_, std::move(broadcast));
        return id;
    }
    void commit(uint64_t epoch) {
        control::CommitView view = view_of(0, epoch);
        view.adoptions = {{.newcomer = 1, .donor = 0}};
        job_.commit(view);
    }
    // The donor's node gives a model of `elements` floats, all of this value.
    void give(uint64_t epoch, uint64_t elements, float value) {
        const std::vector<BufferPtr> model{buffer_of(elements, value)};
        Scratch packed;
        const size_t head = collectives::kCutBytes;
        const size_t bytes = head + model[0]->bytes();
        const auto memory = packed.reserve(bytes).value();
        std::fill(memory.begin(), memory.begin() + head, std::byte{0});
        std::copy_n(model[0]->memory.data(), model[0]->bytes(), memory.data() + head);
        (void)Giving::give(other_services_, {job_.state().id, "a model", kSelf, 0},
                           exchange_number(kToken, ExchangeKind::adoption, epoch, 1),
                           digest_of(model), std::move(packed), bytes);
    }

    static constexpr uint64_t kToken = 99;
    Job job_{services_, options_of("adopts", control::Policy::partial_reduce), 0};
    WorkerPtr newcomer_ = new_worker(1);
};

TEST_F(AdoptionTest, TakesTheModelOfItsView) {
    const BufferPtr buffer = buffer_of(kModelElements, 0);
    const uint64_t id = call(buffer);
    commit(1);
    give(1, kModelElements, 7);
    ASSERT_TRUE(until([&] { return port_.ended(id); }));
    EXPECT_EQ(port_.endings.at(id).outcome, Outcome::done);
    EXPECT_EQ(floats(*buffer).back(), 7);
}

// The new call has other buffers, of another length.
TEST_F(AdoptionTest, GivesAnotherCallNothingOfTheModelThatACanceledOneAskedFor) {
    const uint64_t canceled = call(buffer_of(kModelElements, 0));
    commit(1);
    job_.cancel(newcomer_, canceled);
    ASSERT_EQ(port_.endings.at(canceled).outcome, Outcome::canceled);
    newcomer_->newcomer = true;  // the controller has taken it out again meanwhile
    const BufferPtr larger = buffer_of(kModelElements * 4, -1);
    const uint64_t id = call(larger);
    ASSERT_EQ(newcomer_->state, Worker::State::adopting);
    give(1, kModelElements, 7);
    let_all_arrive();
    EXPECT_FALSE(port_.ended(id));
    EXPECT_EQ(floats(*larger).front(), -1);
    EXPECT_TRUE(job_.state().wants_view) << "nobody names a donor for the new call";
}

// A trainer numbers its calls as it likes.
TEST_F(AdoptionTest, GivesACallUnderTheNumberOfACanceledOneNothingOfItsModel) {
    const uint64_t canceled = call(buffer_of(kModelElements, 0));
    commit(1);
    job_.cancel(newcomer_, canceled);
    port_.endings.clear();
    newcomer_->newcomer = true;  // the controller has taken it out again meanwhile
    requests_ = canceled - 1;
    const BufferPtr larger = buffer_of(kModelElements * 40, -1);
    ASSERT_EQ(call(larger), canceled);
    ASSERT_EQ(newcomer_->state, Worker::State::adopting);
    give(1, kModelElements, 7);
    let_all_arrive();
    EXPECT_FALSE(port_.ended(canceled));
    EXPECT_EQ(floats(*larger).front(), -1);
    EXPECT_TRUE(job_.state().wants_view) << "nobody names a donor for the new call";
}

TEST_F(AdoptionTest, ThatIsStoppedForTheNextViewLeavesTheWishForAnother) {
    const uint64_t id = call(buffer_of(kModelElements, 0));
    commit(1);
    job_.prepare({.job = 0, .epoch = 2, .token = kToken});
    job_.state().wants_view = true;  // something else has failed here
    let_all_arrive();
    EXPECT_TRUE(job_.state().wants_view);
    EXPECT_FALSE(port_.ended(id));
}

}  // namespace
}  // namespace pace::daemon
