// Calls with equal digests and different buffers: nobody's memory is laid out as another's.
#include <array>
#include <string>

#include "daemon/jobs/tests/two_nodes_fixture.h"

namespace pace::daemon {
namespace {

using base::ErrorKind;
using protocol::Outcome;
using protocol::Verb;

// kFewFloats and kManyFloats elements of f32 give the same digest. In partial rounds, kFewTerms and
// kManyTerms elements give the same terms.
constexpr uint64_t kFewFloats = 87'108;
constexpr uint64_t kManyFloats = 265'457;
constexpr uint64_t kFewTerms = 11'639;
constexpr uint64_t kManyTerms = 44'698;

// Two workers of one job on this node.
class UnlikeCalls : public JobFixture {
  protected:
    void open(control::JobOptions options) {
        options.name = "unlike";
        options.world = 2;
        job_.emplace(services_, options, 1000);
        job_->state().id = 1;
        job_->state().token = 99;
        for (const WorkerPtr& worker : workers_) job_->add(worker);
        commit(1);
    }
    void commit(uint64_t epoch) {
        control::CommitView view;
        view.job = 1;
        view.epoch = epoch;
        view.members = {{0, kSelf, 0, 0}, {1, kSelf, 0, 0}};
        view.base_round = job_->rounds().completed();
        job_->commit(view);
    }
    uint64_t call(size_t rank, Verb verb, const BufferPtr& buffer) {
        Request called = request(verb, buffer, 1);
        called.op = protocol::ReduceOp::sum;
        called.digest = digest_of(called.buffers);
        const uint64_t id = called.id;
        job_->submit(workers_[rank], std::move(called));
        return id;
    }
    bool until_ended(uint64_t id) {
        const base::TimePoint deadline = base::now() + std::chrono::seconds(20);
        while (!port_.ended(id) && base::now() < deadline) loop_->turn(false);
        return port_.ended(id);
    }
    // The request has ended with the error that names both workers.
    void expect_told(uint64_t id) {
        ASSERT_TRUE(until_ended(id));
        const Ending& ending = port_.endings.at(id);
        EXPECT_EQ(ending.outcome, Outcome::failed);
        EXPECT_EQ(ending.kind, ErrorKind::mismatch);
        for (const char* name : {"worker 0", "worker 1"})
            EXPECT_NE(ending.message.find(name), std::string::npos) << ending.message;
    }
    static bool holds(const BufferPtr& buffer, float value) {
        return std::ranges::all_of(floats(*buffer), [value](float own) { return own == value; });
    }

    std::array<WorkerPtr, 2> workers_{new_worker(0), new_worker(1)};
    // Mappings come one below the other: an overrun of the second ends in the third's begin, or in
    // unmapped memory.
    BufferPtr many_ = buffer_of(kManyFloats, 1);
    BufferPtr bystander_ = buffer_of(kManyFloats, 7);
    BufferPtr few_ = buffer_of(kFewFloats, 2);
    std::optional<Job> job_;
};

TEST_F(UnlikeCalls, HaveTheSameDigest) {
    ASSERT_EQ(digest_of({many_}), digest_of({few_}));
    const auto terms_of = [](uint64_t count) {
        return partial::Terms{collectives::Layout({{protocol::DType::f32, count}}), false};
    };
    ASSERT_EQ(partial::digest_of(terms_of(kFewTerms)), partial::digest_of(terms_of(kManyTerms)));
}

TEST_F(UnlikeCalls, OfARoundAreRefused) {
    control::JobOptions options;
    options.policy = control::Policy::all_reduce;
    open(options);
    const uint64_t first = call(0, Verb::reduce, many_);
    const uint64_t second = call(1, Verb::reduce, few_);
    expect_told(first);
    expect_told(second);
    EXPECT_TRUE(holds(many_, 1) && holds(few_, 2) && holds(bystander_, 7));
}

TEST_F(UnlikeCalls, OfARoundAreRefusedAlsoIfTheFewAreTheFirst) {
    control::JobOptions options;
    options.policy = control::Policy::all_reduce;
    open(options);
    const uint64_t first = call(0, Verb::broadcast, few_);
    const uint64_t second = call(1, Verb::broadcast, many_);
    expect_told(first);
    expect_told(second);
    EXPECT_TRUE(holds(many_, 1));
}

TEST_F(UnlikeCalls, OfAGroupAreRefused) {
    control::JobOptions options;
    options.policy = control::Policy::partial_reduce;
    options.group_size = 2;
    open(options);
    const uint64_t first = call(0, Verb::average, many_);
    const uint64_t second = call(1, Verb::average, few_);
    control::GroupOrder order;
    order.job = 1;
    order.group = 5;
    order.epoch = 1;
    for (control::Rank rank = 0; rank < 2; ++rank)
        order.members.push_back({.rank = rank, .node = kSelf, .iteration = 1, .weight = 0.5});
    order.digest = workers_[0]->head().digest;
    job_->order(order);
    expect_told(first);
    expect_told(second);
    EXPECT_TRUE(holds(many_, 1) && holds(few_, 2) && holds(bystander_, 7));
}

TEST_F(UnlikeCalls, OfAStaticGroupAreRefused) {
    control::JobOptions options;
    options.policy = control::Policy::prague_static;
    open(options);
    // At this turn a node's workers meet.
    for (const WorkerPtr& worker : workers_) worker->turn = 1;
    const uint64_t first = call(0, Verb::average, many_);
    const uint64_t second = call(1, Verb::average, few_);
    expect_told(first);
    expect_told(second);
    EXPECT_TRUE(holds(many_, 1) && holds(few_, 2) && holds(bystander_, 7));
}

TEST_F(UnlikeCalls, OfARoundThatDoesNotWaitForAllAreRefused) {
    control::JobOptions options;
    options.policy = control::Policy::all_reduce;
    options.quorum = control::Quorum::solo;
    open(options);
    many_ = buffer_of(kManyTerms, 1);
    bystander_ = buffer_of(kManyTerms, 7);
    few_ = buffer_of(kFewTerms, 2);
    ASSERT_TRUE(until_ended(call(0, Verb::reduce, many_)));
    const uint64_t late = call(1, Verb::reduce, few_);
    ASSERT_TRUE(until_ended(late));
    EXPECT_EQ(port_.endings.at(late).kind, ErrorKind::mismatch);
    EXPECT_TRUE(holds(few_, 2) && holds(bystander_, 7));
}

TEST_F(UnlikeCalls, OfANewcomerAndItsDonorAreRefused) {
    control::JobOptions options;
    options.policy = control::Policy::partial_reduce;
    options.group_size = 2;
    open(options);
    const uint64_t broadcast = call(0, Verb::broadcast, many_);
    call(1, Verb::broadcast, buffer_of(kManyFloats, 3));
    ASSERT_TRUE(until_ended(broadcast));
    workers_[1]->newcomer = true;
    const uint64_t again = call(1, Verb::broadcast, few_);
    ASSERT_EQ(workers_[1]->state, Worker::State::adopting);
    control::CommitView view;
    view.job = 1;
    view.epoch = 2;
    view.members = {{0, kSelf, 0, 0}, {1, kSelf, 0, 0}};
    view.base_round = job_->rounds().completed();
    view.adoptions = {{.newcomer = 1, .donor = 0}};
    job_->commit(view);
    call(0, Verb::average, many_);
    expect_told(again);
    EXPECT_TRUE(holds(few_, 2) && holds(bystander_, 7));
}

// The initial model is weighed in; the broadcast had more elements than the group has.
TEST_F(UnlikeCalls, OfAGroupAndTheInitialModelAreRefused) {
    control::JobOptions options;
    options.policy = control::Policy::partial_reduce;
    options.group_size = 2;
    options.weights = control::Weights::dynamic;
    options.missing = control::Missing::initial;
    open(options);
    const BufferPtr other = buffer_of(kFewFloats, 3);
    const uint64_t broadcast = call(0, Verb::broadcast, few_);
    call(1, Verb::broadcast, other);
    ASSERT_TRUE(until_ended(broadcast));
    ASSERT_TRUE(job_->state().initial.valid);
    const BufferPtr others_many = buffer_of(kManyFloats, 1);
    const uint64_t first = call(0, Verb::average, many_);
    call(1, Verb::average, others_many);
    control::GroupOrder order;
    order.job = 1;
    order.group = 5;
    order.epoch = 1;
    order.initial_weight = 0.5;
    for (control::Rank rank = 0; rank < 2; ++rank)
        order.members.push_back({.rank = rank, .node = kSelf, .iteration = 1, .weight = 0.25});
    order.digest = workers_[0]->head().digest;
    job_->order(order);
    ASSERT_TRUE(until_ended(first));
    EXPECT_EQ(port_.endings.at(first).outcome, Outcome::failed);
    EXPECT_TRUE(holds(many_, 1));
}

// ------------------------------------------------------------- calls that others took the place of

class CalledAnew : public TwoNodes {
  protected:
    // The other node gets the round's whole result, and this node does not.
    void miss_a_round(Verb verb, const BufferPtr& ours, const BufferPtr& theirs) {
        control::JobOptions options;
        options.policy = control::Policy::all_reduce;
        open(options);
        commit(1);
        be_in_doubt();
        missed_ = call(verb, ours);
        const uint64_t there = call_there(verb, theirs);
        listen();
        ASSERT_TRUE(until([&] { return other_port_.ended(there); }));
        while (network_.progress()) loop_->turn(false);
        ASSERT_FALSE(port_.ended(missed_));
        prepare(2);
        ASSERT_TRUE(until([&] { return worker_->state == Worker::State::waiting; }));
    }
    // The view in which this node fetches the result.
    void come_back() {
        be_sure();
        controller_.doubt().rest();
        commit(2, {kSelf});
    }

    uint64_t missed_ = 0;
};

// The other node has the round's result, so that the call cannot be canceled any more.
TEST_F(CalledAnew, AfterARoundThatThisNodeMissesGetNothingOfItsResult) {
    const BufferPtr bystander = buffer_of(kManyFloats, 7);
    const BufferPtr few = buffer_of(kFewFloats, 2);
    miss_a_round(Verb::reduce, buffer_of(kManyFloats, 3), buffer_of(kManyFloats, 5));
    job_->cancel(worker_, missed_);
    ASSERT_FALSE(port_.ended(missed_));
    const uint64_t anew = call(Verb::reduce, few);
    come_back();
    ASSERT_TRUE(until([&] { return job_->rounds().completed() == 1; }));
    for (int i = 0; i < 100; ++i) loop_->turn(false);
    EXPECT_EQ(outcome_of(missed_), Outcome::done);
    EXPECT_FALSE(port_.ended(anew)) << "it is for the next round";
    EXPECT_EQ(floats(*few).front(), 2);
    EXPECT_TRUE(std::ranges::all_of(floats(*bystander), [](float value) { return value == 7; }));
}

// A call that equals the missed one gets nothing of that round's result either.
TEST_F(CalledAnew, WithTheSameBuffersAreOfTheNextRound) {
    const BufferPtr ours = buffer_of(kFewFloats, 3);
    const BufferPtr theirs = buffer_of(kFewFloats, 5);
    miss_a_round(Verb::reduce, ours, theirs);
    const uint64_t anew = call(Verb::reduce, ours);
    come_back();
    ASSERT_TRUE(until([&] { return job_->rounds().completed() == 1; }));
    EXPECT_FALSE(port_.ended(anew));
    EXPECT_EQ(floats(*ours).front(), 4) << "the mean of 3 and 5";
    std::ranges::fill(floats(*theirs), 1);
    call_there(Verb::reduce, theirs);
    ASSERT_TRUE(until([&] { return port_.ended(anew); }));
    EXPECT_EQ(outcome_of(anew), Outcome::done);
    EXPECT_EQ(floats(*ours).front(), 2.5F) << "the mean of 4 and 1";
}

// A trainer numbers its calls as it likes.
TEST_F(CalledAnew, UnderTheNumberOfACanceledCallAreNotThatCall) {
    control::JobOptions options;
    options.policy = control::Policy::all_reduce;
    options.reject_nonfinite = true;
    services_.options.inline_bytes_max = 0;
    open(options);
    commit(1);
    Request bad = request(Verb::reduce, buffer_of(kFewFloats, 1), 1);
    for (int i = 0; i < 40; ++i)
        bad.buffers.push_back(buffer_of(16, std::numeric_limits<float>::infinity()));
    bad.id = 77;
    job_->submit(worker_, std::move(bad));
    job_->cancel(worker_, 77);
    ASSERT_EQ(outcome_of(77), Outcome::canceled);
    port_.endings.clear();
    Request good = request(Verb::reduce, buffer_of(kFewFloats, 1), 1);
    good.id = 77;
    job_->submit(worker_, std::move(good));
    for (int i = 0; i < 1000 && !port_.ended(77); ++i) loop_->turn(false);
    EXPECT_FALSE(port_.ended(77)) << port_.endings[77].message;
}

}  // namespace
}  // namespace pace::daemon
