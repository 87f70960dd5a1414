// A server job in another view: its model may be lost, or that of a checkpoint again, or have no
// room here. What becomes of the calls under way, and of the next ones.
#include <string>
#include <vector>

#include "daemon/jobs/tests/served/served_job_fixture.h"

namespace pace::daemon {
namespace {

using control::ServerStep;
using protocol::Outcome;
using protocol::Verb;
using server::LetterKind;

class ServedViews : public ServedJob {
  protected:
    // Worker 1, the root, is away.
    uint64_t broadcast_of_a_lost_model() {
        view_.model_lost = true;
        view_.members = {{0, kSelf, 0, 0}};
        begin();
        Request called = request(Verb::broadcast, model_, 0);
        called.root = 1;
        called.submitted_ns = base::now_ns();
        return submit(std::move(called));
    }
    uint64_t broadcast(float value, uint32_t root = 0) {
        std::ranges::fill(floats(*model_), value);
        Request called = request(Verb::broadcast, model_, 0);
        called.root = root;
        return submit(std::move(called));
    }
    // The part of the other node's shard for a pull at this position.
    void part_comes(uint64_t clock, uint64_t position, float value) {
        send({.kind = LetterKind::part, .shard = kTheirShard, .clock = clock, .position = position},
             std::vector<float>(kHalf, value));
    }
    // The model of generation 2 begins.
    void begin_another() {
        view_.generation = 2;
        view_.model_begins = true;
        commit();
        view_.model_begins = false;
    }
    // The other node keeps the model alone.
    void begin_elsewhere() {
        view_.shards = {kOther, kOther};
        begin();
    }
    void expect_stale(uint64_t id, const std::string& words) {
        EXPECT_EQ(outcome_of(id), Outcome::stale);
        EXPECT_NE(message_of(id).find(words), std::string::npos) << message_of(id);
    }
};

// ------------------------------------------------------------------------------- the first model

// No worker of the job is on the other node.
TEST_F(ServedViews, TheModelOfABroadcastGoesToTheShardsAndFromThereToWhoPulls) {
    view_.members = {{0, kSelf, 0, 0}};
    begin();
    const uint64_t given = broadcast(6);
    EXPECT_EQ(outcome_of(given), Outcome::done);
    const auto letters = take_letters();
    ASSERT_EQ(letters.size(), 1U);
    EXPECT_EQ(letters[0].letter.kind, LetterKind::model);
    EXPECT_EQ(letters[0].letter.clock, 0U) << "the round";
    EXPECT_EQ(letters[0].values(), std::vector<float>(kHalf, 6));
    const auto assigned = told_.take<control::ServerAssigned>();
    ASSERT_EQ(assigned.size(), 1U);
    EXPECT_EQ(assigned[0].round, 0U);
    tell(ServerStep::assign, 0);
    std::ranges::fill(floats(*model_), -1.0F);
    const uint64_t id = pull(0);
    const control::ServerEntry pulled = entry(ServerStep::pull, 0);
    tell(pulled);
    part_comes(0, pulled.position, 6);
    EXPECT_EQ(outcome_of(id), Outcome::done);
    EXPECT_EQ(model(), std::vector<float>(kServed, 6));
}

// Each of the nodes has the model by the round itself.
TEST_F(ServedViews, TheModelOfABroadcastGoesToNobodyWhoHasIt) {
    view_.members = {{0, kSelf, 0, 0}};
    view_.shards = {kSelf, kSelf};
    begin();
    EXPECT_EQ(outcome_of(broadcast(6)), Outcome::done);
    EXPECT_TRUE(take_letters().empty());
    EXPECT_EQ(told_.take<control::ServerAssigned>().size(), 1U);
}

// Letters under way may be lost with the view.
TEST_F(ServedViews, APullIsAskedForAgainAndGetsNothingOfTheViewBefore) {
    begin();
    const uint64_t id = pull(0);
    const control::ServerEntry first = entry(ServerStep::pull, 0);
    tell(first);
    ASSERT_EQ(told_.take<control::ServerAsked>().size(), 1U);
    commit();
    ASSERT_EQ(told_.take<control::ServerAsked>().size(), 1U);
    part_comes(0, first.position, 9);
    EXPECT_FALSE(port_.ended(id)) << "this node's own part of that position is gone";
    const control::ServerEntry second = entry(ServerStep::pull, 0);
    tell(second);
    part_comes(0, second.position, 4);
    EXPECT_EQ(outcome_of(id), Outcome::done);
    EXPECT_EQ(model(), halves(0, 4));
}

TEST_F(ServedViews, APullThatIsWithdrawnEndsWhenTheControllerSaysSo) {
    begin();
    const uint64_t id = pull(0);
    job_->cancel(worker_, id);
    EXPECT_FALSE(port_.ended(id)) << "it may have its place in the order";
    EXPECT_EQ(told_.take<control::Withdraw>().size(), 1U);
    job_->withdrawn(0);
    EXPECT_EQ(outcome_of(id), Outcome::canceled);
    const control::ServerEntry pulled = entry(ServerStep::pull, 0);
    tell(pulled);
    part_comes(0, pulled.position, 4);
    EXPECT_EQ(model(), std::vector<float>(kServed, -1));
}

// ------------------------------------------------------------------------------- models that are
// lost

TEST_F(ServedViews, ALostModelEndsAllCallsUntilABroadcastGivesAnother) {
    begin();
    for (uint64_t clock = 0; clock < Pushes::kWindow; ++clock) push(clock, 1);
    const uint64_t waiting_push = push(Pushes::kWindow, 1);
    const uint64_t waiting_checkpoint = checkpoint();
    const uint64_t waiting_pull = pull(Pushes::kWindow);
    view_.model_lost = true;
    begin_another();
    for (const uint64_t id : {waiting_push, waiting_checkpoint, waiting_pull})
        expect_stale(id, "the model with it; call pace_broadcast");
    expect_stale(push(0, 1), "the model with it; call pace_broadcast");
    expect_stale(pull(0), "the model with it; call pace_broadcast");
    expect_stale(checkpoint(), "the model with it; call pace_broadcast");

    tell(ServerStep::assign, 0);
    EXPECT_EQ(outcome_of(push(0, 1)), Outcome::done) << "another node's round has given a model";
}

// The root's daemon comes back a little later than the others.
TEST_F(ServedViews, ABroadcastOfALostModelWaitsAWhileForARootThatIsAway) {
    const uint64_t id = broadcast_of_a_lost_model();
    EXPECT_FALSE(port_.ended(id));
    job_->look_again();
    EXPECT_FALSE(port_.ended(id)) << "it waits for longer than a moment";
    view_.members = {{0, kSelf, 0, 0}, {1, kOther, 0, 0}};
    commit();
    EXPECT_TRUE(job_->is_exchanging()) << "the root is back, and the round begins";
}

// Another model begins with zeros, which are nobody's.
TEST_F(ServedViews, ABroadcastThatAskedForTheModelBeforeItWasLostDoesNotGetTheZerosOfTheNext) {
    open();
    worker_->newcomer = true;
    Request called = request(Verb::broadcast, model_, 0);
    called.root = 1;
    called.submitted_ns = base::now_ns();
    const uint64_t id = submit(std::move(called));
    view_.model_begins = true;
    view_.generation = 1;
    commit();
    ASSERT_EQ(told_.take<control::ServerAsked>().size(), 1U);
    // Worker 1, the root, is lost, and with it the model.
    view_.members = {{0, kSelf, 0, 0}};
    view_.model_lost = true;
    begin_another();
    EXPECT_TRUE(told_.take<control::ServerAsked>().empty());
    const control::ServerEntry pulled = entry(ServerStep::pull, 0);
    tell(pulled);
    part_comes(0, pulled.position, 0);
    EXPECT_FALSE(port_.ended(id)) << "it waits for the root";
    view_.members = {{0, kSelf, 0, 0}, {1, kOther, 0, 0}};
    commit();
    EXPECT_TRUE(job_->is_exchanging()) << "the root is back, and the round begins";
}

TEST_F(ServedViews, ABroadcastOfALostModelWhoseRootStaysAwayEnds) {
    view_.model_lost = true;
    view_.members = {{0, kSelf, 0, 0}};
    begin();
    Request called = request(Verb::broadcast, model_, 0);
    called.root = 1;  // submitted at 0, long ago
    const uint64_t id = submit(std::move(called));
    EXPECT_EQ(outcome_of(id), Outcome::failed);
    EXPECT_NE(message_of(id).find("root 1 is not a member"), std::string::npos) << message_of(id);
}

// A view counts on a shard that is not here any more.
TEST_F(ServedViews, AShardThatIsNotHereAsksForAnotherViewAndCallsWait) {
    begin_elsewhere();
    const uint64_t id = pull(0);
    view_.shards = {kSelf, kOther};
    commit();
    EXPECT_TRUE(job_->state().wants_view);
    EXPECT_FALSE(job_->keeps_shards());
    EXPECT_FALSE(port_.ended(id)) << "the next view decides";
    told_.take<control::ServerAsked>();
    begin_another();
    EXPECT_TRUE(job_->keeps_shards());
    EXPECT_EQ(told_.take<control::ServerAsked>().size(), 1U);
}

TEST_F(ServedViews, AGapInTheOrderAsksForAnotherView) {
    begin();
    ++position_;
    tell(ServerStep::pull, 0);
    EXPECT_TRUE(job_->state().wants_view);
    EXPECT_FALSE(job_->keeps_shards());
    job_->prepare({.job = kJob, .epoch = 2, .token = kServedToken});
    const auto prepared = told_.take<control::ViewPrepared>();
    ASSERT_EQ(prepared.size(), 1U);
    EXPECT_TRUE(prepared[0].server.shards.empty()) << "the controller finds that they are lost";
}

// ------------------------------------------------------------------- models that are restored

TEST_F(ServedViews, ARestoredModelEndsCallsOfLaterStepsUntilTheWorkerAsksForIt) {
    begin_elsewhere();
    tell(ServerStep::join, 5);
    const uint64_t waiting = pull(5);
    view_.saved_generation = 1;
    view_.ledger.workers = {{.rank = 0, .clock = 3}};
    begin_another();
    expect_stale(waiting, "the model is that of a checkpoint again");
    EXPECT_EQ(port_.endings.at(waiting).iteration, 3U) << "its step at the checkpoint";
    expect_stale(push(5, 1), "the model is that of a checkpoint again");
    expect_stale(checkpoint(), "the model is that of a checkpoint again");
    expect_stale(pull(4), "the model is that of a checkpoint again");
    const uint64_t id = pull(3);
    EXPECT_FALSE(port_.ended(id)) << "the trainer goes on from the checkpoint";
    EXPECT_EQ(told_.take<control::ServerAsked>().back().clock, 3U);
    EXPECT_EQ(port_.endings[push(3, 1)].contributors, 1U);
}

// The node hears of the job's model for the first time, and its trainer knows no other.
TEST_F(ServedViews, ARestoredModelThatIsTheFirstHereGoesToWhoAsksForNoLaterStep) {
    view_.shards = {kOther, kOther};
    open();
    const uint64_t id = pull(3);
    view_.generation = 2;
    view_.saved_generation = 1;
    view_.model_begins = true;
    view_.ledger.workers = {{.rank = 0, .clock = 3}};
    commit();
    EXPECT_FALSE(port_.ended(id));
    EXPECT_EQ(told_.take<control::ServerAsked>().size(), 1U);
}

// ------------------------------------------------------------------------ models without room

TEST_F(ServedViews, AShardForWhichThereIsNoRoomEndsCallsWithTheSettingThatLimitsIt) {
    services_.accounts = Accounts::create({.user_bytes_max = kHalf * sizeof(float) - 1});
    open();
    const uint64_t waiting = pull(0);
    view_.generation = 1;
    view_.model_begins = true;
    commit();
    for (const uint64_t id : {waiting, push(0, 1), pull(0)}) {
        EXPECT_EQ(outcome_of(id), Outcome::failed);
        EXPECT_EQ(port_.endings.at(id).kind, base::ErrorKind::limit);
        EXPECT_NE(message_of(id).find("user_bytes_max"), std::string::npos) << message_of(id);
    }
    EXPECT_TRUE(job_->state().wants_view) << "others must hear that the model is not whole";
    view_.shards = {kOther, kOther};
    begin_another();
    EXPECT_EQ(outcome_of(push(0, 1)), Outcome::done) << "the model has room elsewhere";
}

TEST_F(ServedViews, APullOfAStepThatIsTooFarAheadSaysWhichOneComesNext) {
    begin();
    const uint64_t id = pull(2);
    EXPECT_EQ(outcome_of(id), Outcome::failed);
    EXPECT_NE(message_of(id).find("clock is 2, but this worker's next update is of its step 0"),
              std::string::npos)
        << message_of(id);
}

// ----------------------------------------------------------------------------- in words

class ServedWaits : public ServedViews {
  protected:
    // What the request waits for.
    std::string text(uint64_t id) const {
        for (const Wait& wait : job_->waits(base::now_ns(), base::Duration::zero()))
            if (wait.request == id) return wait.what;
        return "nothing";
    }
};

TEST_F(ServedWaits, OfAPushNameTheShardsNodeAndThenTheController) {
    begin();
    for (uint64_t clock = 0; clock < Pushes::kWindow; ++clock) push(clock, 1);
    const uint64_t id = push(Pushes::kWindow, 1);
    EXPECT_EQ(text(id), "its 4 pushes before, which wait for a shard's node: other");
    for (const Came& came : take_letters()) answer(came, LetterKind::held);
    EXPECT_EQ(text(id), "its 4 pushes before, which wait for the controller to order them");
}

TEST_F(ServedWaits, OfAPullNameOneThingAfterTheOther) {
    begin();
    push(0, 1);
    const uint64_t id = pull(1);
    EXPECT_EQ(text(id), "its own pushes, which wait for a shard's node: other");
    for (const Came& came : take_letters()) answer(came, LetterKind::held);
    EXPECT_EQ(text(id), "its own pushes, which wait for the controller to order them");
    tell(ServerStep::push, 0);
    EXPECT_EQ(text(id), "the model, from other");
    tell(ServerStep::assign, 7);
    EXPECT_EQ(text(id), "the model of a pace_broadcast to come to this node");
}

TEST_F(ServedWaits, OfAPullNameTheWorkersThatAreSlow) {
    options_.policy = control::Policy::bsp;
    begin();
    control::ServerEntry joined = entry(ServerStep::join, 2);
    joined.worker.rank = 1;
    tell(joined);
    tell(ServerStep::join, 3);
    const uint64_t id = pull(3);
    EXPECT_EQ(text(id),
              "worker 1 on other, which is at step 2 (a pull for step 3 waits for all to have come "
              "to step 3)");
}

TEST_F(ServedWaits, OfACheckpointNameThePushesAndThenTheDisks) {
    begin();
    push(0, 1);
    const uint64_t id = checkpoint();
    EXPECT_EQ(text(id), "its own pushes, which wait for a shard's node: other");
    for (const Came& came : take_letters()) answer(came, LetterKind::held);
    tell(ServerStep::push, 0);
    EXPECT_EQ(text(id), "the shards to be on the disks of their nodes: node 1 other");
}

TEST_F(ServedWaits, OfALostModelNameTheRootThatIsAway) {
    const uint64_t id = broadcast_of_a_lost_model();
    EXPECT_EQ(text(id), "worker 1 to come back, the root of this pace_broadcast");
}

}  // namespace
}  // namespace pace::daemon
