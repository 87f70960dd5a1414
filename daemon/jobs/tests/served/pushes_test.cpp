// Updates on their way to the shards of a model: what the other node and the controller hear of
// them, and what they hear again in another view.
#include "daemon/families/serving/pushes.h"

#include <vector>

#include "daemon/jobs/tests/served/served_job_fixture.h"

namespace pace::daemon {
namespace {

using control::ServerStep;
using protocol::Outcome;
using protocol::Verb;
using server::LetterKind;

class PushesTest : public ServedJob {
  protected:
    // The clocks of the updates of which the controller has heard since the last such call. It may
    // hear of one more than once.
    std::vector<uint64_t> stored() {
        std::vector<uint64_t> clocks;
        for (const auto& message : told_.take<control::ServerStored>()) {
            EXPECT_EQ(message.job, kJob);
            EXPECT_EQ(message.generation, view_.generation);
            EXPECT_EQ(message.rank, 0U);
            if (clocks.empty() || clocks.back() != message.clock) clocks.push_back(message.clock);
        }
        return clocks;
    }
    // The clocks of the updates that have come to the other node since the last such call.
    std::vector<uint64_t> sent() {
        std::vector<uint64_t> clocks;
        for (const Came& came : take_letters()) {
            EXPECT_EQ(came.letter.kind, LetterKind::update);
            EXPECT_EQ(came.letter.shard, kTheirShard);
            clocks.push_back(came.letter.clock);
        }
        return clocks;
    }
    // Takes an update through to its place in the order.
    void push_and_order(uint64_t clock, float value) {
        EXPECT_EQ(outcome_of(push(clock, value)), Outcome::done);
        const auto letters = take_letters();
        ASSERT_EQ(letters.size(), 1U);
        answer(letters[0], LetterKind::held);
        tell(ServerStep::push, clock);
    }
    uint64_t push_entries(uint64_t clock, const std::vector<uint32_t>& indices,
                          const std::vector<float>& values) {
        const BufferPtr places = buffer_of(indices.size(), 0);
        const BufferPtr contents = buffer_of(values.size(), 0);
        std::memcpy(places->memory.data(), indices.data(), indices.size() * sizeof(uint32_t));
        std::ranges::copy(values, floats(*contents).begin());
        Request push = request(Verb::push, places, clock);
        push.buffers = {places, contents};
        push.sparse = true;
        push.entries = indices.size();
        return submit(std::move(push));
    }
};

TEST_F(PushesTest, GoToEachShardAndAreToldOnceAllShardsHoldThem) {
    begin();
    const uint64_t id = push(0, 3);
    EXPECT_EQ(outcome_of(id), Outcome::done) << "the trainer does not wait for the shards";
    EXPECT_EQ(port_.endings.at(id).contributors, 1U);
    const auto letters = take_letters();
    ASSERT_EQ(letters.size(), 1U) << "the other half is kept here";
    EXPECT_EQ(letters[0].letter.kind, LetterKind::update);
    EXPECT_EQ(letters[0].letter.shard, kTheirShard);
    EXPECT_EQ(letters[0].values(), std::vector<float>(kHalf, 3));
    EXPECT_TRUE(stored().empty()) << "the other shard may never get it";
    answer(letters[0], LetterKind::held);
    EXPECT_EQ(stored(), std::vector<uint64_t>{0});
}

TEST_F(PushesTest, AreToldInTheirOrderThoughTheyAreHeldInAnother) {
    begin();
    push(0, 1);
    push(1, 1);
    const auto letters = take_letters();
    ASSERT_EQ(letters.size(), 2U);
    answer(letters[1], LetterKind::held);
    EXPECT_TRUE(stored().empty()) << "the controller would take no update from before any more";
    answer(letters[0], LetterKind::held);
    EXPECT_EQ(stored(), (std::vector<uint64_t>{0, 1}));
}

TEST_F(PushesTest, WaitWhileTooManyAreNotOrdered) {
    begin();
    for (uint64_t clock = 0; clock < Pushes::kWindow; ++clock) push(clock, 1);
    const uint64_t next = push(Pushes::kWindow, 1);
    const auto letters = take_letters();
    ASSERT_EQ(letters.size(), Pushes::kWindow);
    answer(letters[0], LetterKind::held);
    EXPECT_FALSE(port_.ended(next)) << "held is not ordered";
    tell(ServerStep::push, 0);
    EXPECT_EQ(outcome_of(next), Outcome::done);
    EXPECT_EQ(sent(), std::vector<uint64_t>{Pushes::kWindow});
}

// The daemon took the first one, but its trainer may not have heard.
TEST_F(PushesTest, OfAStepThatWasTakenBeforeChangeNothing) {
    begin();
    push(0, 3);
    EXPECT_EQ(sent().size(), 1U);
    const uint64_t again = push(0, 5);
    EXPECT_EQ(outcome_of(again), Outcome::done);
    EXPECT_EQ(port_.endings.at(again).contributors, 0U);
    EXPECT_TRUE(sent().empty());
}

TEST_F(PushesTest, CountFromTheStepAtWhichTheirWorkerJoins) {
    begin();
    tell(ServerStep::join, 7);
    EXPECT_EQ(port_.endings[push(6, 1)].contributors, 0U);
    const uint64_t id = push(7, 1);
    EXPECT_EQ(port_.endings[id].contributors, 1U);
    EXPECT_EQ(port_.endings[id].iteration, 8U) << "the worker's next step";
    EXPECT_EQ(sent(), std::vector<uint64_t>{7});
}

TEST_F(PushesTest, OfEntriesBringEachShardItsOwn) {
    begin();
    EXPECT_EQ(outcome_of(push_entries(0, {1, 6}, {10, 20})), Outcome::done);
    const auto letters = take_letters();
    ASSERT_EQ(letters.size(), 1U);
    EXPECT_TRUE(letters[0].letter.sparse);
    EXPECT_EQ(letters[0].letter.count, 1U);
    EXPECT_EQ(letters[0].values(), (std::vector<float>{0, 0, 20, 0}));
}

TEST_F(PushesTest, ThatMakeNoSenseAreRefusedAndTheirStepIsStillToCome) {
    begin();
    const std::vector<std::vector<uint32_t>> wrong = {{6, 1}, {3, 3}, {1, kServed}};
    for (const auto& indices : wrong) {
        const uint64_t id = push_entries(0, indices, {1, 1});
        EXPECT_EQ(outcome_of(id), Outcome::failed);
        EXPECT_EQ(port_.endings[id].kind, base::ErrorKind::invalid) << message_of(id);
    }
    const uint64_t beyond = submit(request(Verb::push, buffer_of(kServed + 1, 1), 0));
    EXPECT_EQ(port_.endings[beyond].kind, base::ErrorKind::invalid) << message_of(beyond);
    EXPECT_TRUE(sent().empty());
    EXPECT_EQ(port_.endings[push(0, 1)].contributors, 1U);
    EXPECT_EQ(sent(), std::vector<uint64_t>{0});
}

TEST_F(PushesTest, KeepBackWhatIsTooSmallUntilItHasGrown) {
    options_.filter = 0.5;
    begin();
    std::vector<float> sums;
    for (uint64_t clock = 0; clock < 3; ++clock) {
        push(clock, 0.25F);
        const auto letters = take_letters();
        ASSERT_EQ(letters.size(), 1U) << "each update has its place, also an empty one";
        for (const float value : letters[0].values()) EXPECT_EQ(value, letters[0].values()[0]);
        sums.push_back(letters[0].values()[0]);
    }
    EXPECT_EQ(sums, (std::vector<float>{0, 0.5F, 0}));
}

// --------------------------------------------------------------------------------- in another view

TEST_F(PushesTest, GoAgainInAnotherViewIfTheyMayNotHaveArrived) {
    begin();
    push(0, 3);
    push(1, 5);
    const auto before = take_letters();
    ASSERT_EQ(before.size(), 2U);
    answer(before[0], LetterKind::held);
    EXPECT_EQ(stored(), std::vector<uint64_t>{0});
    commit();
    const auto after = take_letters();
    ASSERT_EQ(after.size(), 1U) << "the shard holds the first one";
    EXPECT_EQ(after[0].letter, before[1].letter) << "the shard knows it again";
    EXPECT_EQ(after[0].values(), before[1].values());
    EXPECT_EQ(stored(), std::vector<uint64_t>{0}) << "the controller may be another one";
    answer(after[0], LetterKind::held);
    EXPECT_EQ(stored(), (std::vector<uint64_t>{0, 1}));
}

TEST_F(PushesTest, DoNotGoAgainIfTheViewSaysThatTheyWereOrdered) {
    begin();
    push(0, 3);
    push(1, 5);
    EXPECT_EQ(sent().size(), 2U);
    view_.missed = {entry(ServerStep::push, 0)};
    view_.ledger.workers = {{.rank = 0, .clock = 1}};
    commit();
    EXPECT_EQ(sent(), std::vector<uint64_t>{1});
}

TEST_F(PushesTest, OfAnEarlierModelAreNotForTheNext) {
    begin();
    push(0, 3);
    EXPECT_EQ(sent().size(), 1U);
    ++view_.generation;
    view_.model_begins = true;
    view_.ledger.workers = {{.rank = 0, .clock = 0}};
    commit();
    EXPECT_TRUE(sent().empty());
    EXPECT_TRUE(stored().empty());
    EXPECT_EQ(port_.endings[push(0, 1)].contributors, 1U) << "the step is made anew";
}

// The order names an update that the other shard has not got.
TEST_F(PushesTest, ThatAreToldAtOnceAreKeptUntilTheyAreHeld) {
    options_.unsynchronized = true;
    begin();
    push(0, 3);
    EXPECT_EQ(stored(), std::vector<uint64_t>{0}) << "before any shard elsewhere holds it";
    EXPECT_EQ(sent().size(), 1U);
    tell(ServerStep::push, 0);
    view_.ledger.workers = {{.rank = 0, .clock = 1}};
    commit();
    const auto letters = take_letters();
    ASSERT_EQ(letters.size(), 1U);
    EXPECT_TRUE(stored().empty()) << "it has its place";
    answer(letters[0], LetterKind::held);
    commit();
    EXPECT_TRUE(sent().empty());
}

// ------------------------------------------------------------------------------ what waits for
// them

TEST_F(PushesTest, ThatAreCanceledHoldUpNoPullAndNoCheckpoint) {
    begin();
    for (uint64_t clock = 0; clock < Pushes::kWindow; ++clock) push(clock, 1);
    const uint64_t last = push(Pushes::kWindow, 1);
    checkpoint();
    pull(Pushes::kWindow);
    EXPECT_EQ(told_.take<control::CheckpointAsked>().back().own, Pushes::kWindow + 1);
    EXPECT_EQ(told_.take<control::ServerAsked>().back().own, Pushes::kWindow + 1);
    job_->cancel(worker_, last);
    EXPECT_EQ(outcome_of(last), Outcome::canceled);
    EXPECT_EQ(told_.take<control::CheckpointAsked>().back().own, Pushes::kWindow);
    EXPECT_EQ(told_.take<control::ServerAsked>().back().own, Pushes::kWindow);
}

TEST_F(PushesTest, AreInTheModelThatIsPulledAfterThem) {
    begin();
    push_and_order(0, 3);
    const uint64_t id = pull(1);
    EXPECT_EQ(told_.take<control::ServerAsked>().back().own, 1U);
    control::ServerEntry pulled = entry(ServerStep::pull, 1);
    pulled.slowest = 1;
    tell(pulled);
    EXPECT_FALSE(port_.ended(id)) << "half of the model is elsewhere";
    send({.kind = LetterKind::part, .shard = kTheirShard, .clock = 1, .position = pulled.position},
         std::vector<float>(kHalf, 4));
    EXPECT_EQ(outcome_of(id), Outcome::done);
    EXPECT_EQ(model(), halves(3, 4));
    EXPECT_EQ(port_.endings.at(id).group, pulled.position);
    EXPECT_EQ(port_.endings.at(id).iteration, 1U);
    EXPECT_EQ(port_.endings.at(id).nodes, 2U);
}

}  // namespace
}  // namespace pace::daemon
