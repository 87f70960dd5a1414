// A node's part in a server job: what it says of a model that a round has given, and how often.
#include "daemon/families/serving/serving.h"

#include <utility>
#include <vector>

#include "daemon/jobs/tests/other_node_fixture.h"
#include "daemon/members/silent_job.h"

namespace pace::daemon {
namespace {

using control::ServerStep;
using protocol::Verb;

constexpr uint64_t kModelSize = 4;
constexpr uint64_t kRound = 5;

control::JobOptions with_server(uint64_t elements) {
    control::JobOptions options;
    options.name = "served";
    options.world = 1;
    options.policy = control::Policy::ssp;
    options.elements = elements;
    return options;
}

// The only node of its job.
class ServingTest : public WithOtherNode {
  protected:
    explicit ServingTest(uint64_t elements = kModelSize)
        : job_{services_, silent_, with_server(elements), 1000}, model_(buffer_of(elements, 3)) {
        begin_view(0, true);
    }
    // The order has come to `position`, and the workers, by rank, to these clocks.
    void begin_view(uint64_t position, bool begins = false,
                    const std::vector<uint64_t>& clocks = {}) {
        control::CommitView view;
        view.epoch = ++job_.view.epoch;
        job_.view.members = {{0, kSelf, 0, 0}};
        for (control::Rank rank = 0; rank < clocks.size(); ++rank) {
            if (rank > 0) job_.view.members.push_back({rank, kSelf, 0, 0});
            view.ledger.workers.push_back({.rank = rank, .clock = clocks[rank]});
        }
        view.members = job_.view.members;
        view.shards = {keeper_};
        view.generation = generation_;
        view.model_begins = begins;
        view.ledger.position = position;
        serving_.commit(view);
    }
    // The controller has made the round's model the job's model.
    void order_model(uint64_t position) {
        control::ServerEntry entry;
        entry.position = position;
        entry.step = ServerStep::assign;
        entry.clock = kRound;
        serving_.order({.job = job_.id, .generation = generation_, .entries = {entry}});
    }
    // How many messages the controller would have got during `act`.
    template <typename Act>
    uint64_t said_during(Act act) {
        const uint64_t before = controller_.dropped();
        act();
        return controller_.dropped() - before;
    }

    NodeId keeper_ = kSelf;  // of the model
    uint64_t generation_ = 1;
    SilentJob silent_;
    JobState job_;
    Serving serving_{job_};
    const BufferPtr model_;
};

// With a model that is too large for the loop to copy.
class ServingALargeModel : public ServingTest {
  protected:
    ServingALargeModel() : ServingTest(kLargeModel) {}
    static constexpr uint64_t kLargeModel = uint64_t{5} << 20U;
};

TEST_F(ServingTest, TheModelOfARoundIsSaidAgainInEachViewUntilItIsOrdered) {
    EXPECT_EQ(said_during([this] { serving_.broadcasted(kRound, {model_}, nullptr); }), 1U);
    EXPECT_EQ(said_during([this] { begin_view(0); }), 1U);
    order_model(1);
    EXPECT_EQ(said_during([this] { begin_view(1); }), 0U);
}

// Another node's part of the round ended first, and the controller was quick.
TEST_F(ServingTest, TheModelOfARoundThatWasOrderedBeforeItCameIsNotSaidAgain) {
    order_model(1);
    EXPECT_EQ(serving_.host().awaited_round(), kRound);
    EXPECT_EQ(said_during([this] { serving_.broadcasted(kRound, {model_}, nullptr); }), 0U);
    EXPECT_FALSE(serving_.host().awaited_round()) << "it is there";
    EXPECT_EQ(said_during([this] { begin_view(1); }), 0U);
}

// A node without shards has missed more of the order than is kept for it. The assignment of the
// model is in that part of the order, or others have said it.
TEST_F(ServingTest, TheModelOfARoundIsNotSaidAgainByWhoHasMissedTheOrder) {
    keeper_ = kOther;
    ++generation_;
    begin_view(0, true);
    EXPECT_EQ(said_during([this] { serving_.broadcasted(kRound, {model_}, nullptr); }), 1U);
    EXPECT_EQ(said_during([this] { begin_view(2000); }), 0U);
    EXPECT_EQ(said_during([this] { begin_view(2000); }), 0U);
}

// --------------------------------------------------------------------------- what a pull waits for

// The job's own option says how far ahead a worker may be.
TEST_F(ServingTest, APullThatStalenessHoldsBackNamesTheSlowWorker) {
    for (const uint32_t staleness : {2U, 8U}) {
        job_.options.staleness = staleness;
        const WorkerPtr worker = job_.workers[0] = new_worker(0);
        ++generation_;
        begin_view(0, true, {10, 6});
        worker->queue.push_back(request(Verb::pull, model_, 10));
        serving_.begin_pull(worker);
        const std::string text = serving_.awaited(*worker);
        const bool is_held = text.find("worker 1 on this node, which is at step 6") == 0;
        EXPECT_EQ(is_held, staleness == 2) << text;
        if (staleness == 2) {
            EXPECT_NE(text.find("all to have come to step 8"), std::string::npos) << text;
        }
    }
}

// ------------------------------------------------------------------------ letters that do not come

constexpr base::Duration kTooLong = std::chrono::seconds(11);

TEST_F(ServingTest, AModelThatDoesNotComeHasAnotherViewAskedForOnce) {
    order_model(1);
    const base::TimePoint now = base::now();
    serving_.look_again(now);
    EXPECT_FALSE(job_.wants_view) << "it may be on its way";
    testing::internal::CaptureStderr();
    serving_.look_again(now + kTooLong);
    serving_.look_again(now + 2 * kTooLong);
    const std::string log = testing::internal::GetCapturedStderr();
    EXPECT_TRUE(job_.wants_view);
    EXPECT_NE(log.find("the model of a pace_broadcast does not come"), std::string::npos) << log;
    EXPECT_EQ(log.find("asking for another view"), log.rfind("asking for another view"));
}

TEST_F(ServingTest, ALetterThatIsNotAnsweredHasAnotherViewAskedFor) {
    keeper_ = kOther;
    ++generation_;
    const WorkerPtr worker = new_worker(0);
    job_.workers[0] = worker;
    begin_view(0, true);
    serving_.push(worker, request(protocol::Verb::push, model_, 0));
    turn();
    const base::TimePoint now = base::now();
    EXPECT_EQ(serving_.look_again(now + std::chrono::seconds(1)), std::vector<NodeId>{kOther});
    EXPECT_FALSE(job_.wants_view);
    serving_.look_again(now + kTooLong);
    EXPECT_TRUE(job_.wants_view);
    transport_->end();
    turn();
}

// Another node keeps the model.
class ServedElsewhere : public ServingTest {
  protected:
    ServedElsewhere() {
        job_.id = 1;
        job_.workers[0] = worker_;
        keeper_ = kOther;
        ++generation_;
        begin_view(0, true);
    }
    ~ServedElsewhere() override {
        mail_.close(base::make_error(base::ErrorKind::canceled, "the test is over"));
        other_transport_->end();
    }

    void listen() {
        WithOtherNode::listen();
        mail_.open(job_.token, job_.view.epoch, {kSelf, kOther});
    }

    const WorkerPtr worker_ = new_worker(0);
    std::vector<server::Letter> come_;  // at the other node
    ServerMail mail_{
        other_services_,
        kModelSize,
        Payer{Accounts::create(), 0},
        [this](NodeId, const server::Letter& letter, const Parcel&) { come_.push_back(letter); },
        [](NodeId, const server::Letter&, const base::Error&) {},
        [](NodeId, const base::Error&) {}};
};

// A message or its answer was lost.
TEST_F(ServedElsewhere, AnUpdateWithoutAnAnswerAsksForAnotherViewInTime) {
    EXPECT_LE(3 * services_.options.answer_wait, std::chrono::seconds(10))
        << "a call ends within 10 s, also if a letter is lost twice";
    services_.options.answer_wait = std::chrono::milliseconds(150);
    serving_.push(worker_, request(Verb::push, model_, 0));
    listen();
    ASSERT_TRUE(until([this] { return !come_.empty(); }));
    serving_.look_again(base::now());
    EXPECT_FALSE(job_.wants_view);
    EXPECT_TRUE(until([this] {
        serving_.look_again(base::now());
        return job_.wants_view;
    }));
}

TEST_F(ServedElsewhere, AnAnswerThatIsRepeatedCountsOnce) {
    listen();
    serving_.push(worker_, request(Verb::push, model_, 0));
    ASSERT_TRUE(until([this] { return !come_.empty(); }));
    server::Letter answer = come_.front();
    ASSERT_EQ(answer.kind, server::LetterKind::update);
    answer.kind = server::LetterKind::held;
    answer.bytes = answer.count = 0;
    EXPECT_EQ(said_during([&] {
                  mail_.send(kSelf, answer);
                  turn();
              }),
              1U);
    EXPECT_EQ(said_during([&] {
                  mail_.send(kSelf, answer);
                  turn();
              }),
              0U);
    EXPECT_FALSE(job_.wants_view);
}

// The loop does not copy the model instead, into memory that nobody has checked for.
TEST_F(ServingALargeModel, ForWhoseCopyThereIsNoRoomEndsTheCallsThatNeedIt) {
    const auto worker = new_worker(0);
    EXPECT_EQ(said_during([this] { serving_.broadcasted(kRound, {model_}, nullptr); }), 0U);
    EXPECT_TRUE(job_.wants_view);
    const Request push = request(protocol::Verb::push, model_, 1);
    serving_.push(worker, push);
    ASSERT_TRUE(port_.ended(push.id));
    EXPECT_EQ(port_.endings[push.id].outcome, protocol::Outcome::failed);
}

}  // namespace
}  // namespace pace::daemon
