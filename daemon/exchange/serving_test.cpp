// A node's part in a server job: what it says of a model that a round has given, and how often.
#include "daemon/exchange/serving.h"

#include <utility>

#include "daemon/exchange/job_fixture.h"

namespace pace::daemon {
namespace {

using control::ServerStep;

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
class ServingTest : public JobFixture {
  protected:
    explicit ServingTest(uint64_t elements = kModelSize)
        : job_{services_, with_server(elements), 1000}, model_(buffer_of(elements, 3)) {
        job_.advance = [](const WorkerPtr&) {};
        begin_view(0, true);
    }
    // The order has come to `position`.
    void begin_view(uint64_t position, bool begins = false) {
        control::CommitView view;
        view.epoch = ++job_.view.epoch;
        job_.view.members = {{0, kSelf, 0, 0}};
        view.members = job_.view.members;
        view.shards = {keeper_};
        view.generation = generation_;
        view.model_begins = begins;
        view.ledger.position = position;
        serving_.commit(view);
    }
    // The controller has made the round's model the job's.
    void order_model(uint64_t position) {
        control::ServerEntry entry;
        entry.position = position;
        entry.step = ServerStep::assign;
        entry.clock = kRound;
        serving_.order({.job = job_.id, .generation = generation_, .entries = {entry}});
    }
    // How many messages the controller would have got meanwhile.
    template <typename Act>
    uint64_t said_during(Act act) {
        const uint64_t before = link_->counters().dropped;
        act();
        return link_->counters().dropped - before;
    }

    NodeId keeper_ = kSelf;  // of the model
    uint64_t generation_ = 1;
    JobState job_;
    Serving serving_{job_};
    const BufferPtr model_;
};

// Of a model that the loop does not copy.
class ServingALargeModel : public ServingTest {
  protected:
    ServingALargeModel() : ServingTest(kElements) {}
    static constexpr uint64_t kElements = uint64_t{5} << 20U;
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

// A node without shards that has missed more of the order than is kept for it: the model is among that, or others have said it.
TEST_F(ServingTest, TheModelOfARoundIsNotSaidAgainByWhoHasMissedTheOrder) {
    keeper_ = kOther;
    ++generation_;
    begin_view(0, true);
    EXPECT_EQ(said_during([this] { serving_.broadcasted(kRound, {model_}, nullptr); }), 1U);
    EXPECT_EQ(said_during([this] { begin_view(2000); }), 0U);
    EXPECT_EQ(said_during([this] { begin_view(2000); }), 0U);
}

// It is not copied by the loop instead, into memory that nobody has looked for.
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
