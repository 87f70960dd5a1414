#include "service/controller/core/serving/checkpoints.h"

#include <gtest/gtest.h>

namespace pace::controller {
namespace {

using std::chrono::seconds;

constexpr TimePoint kStart{};

struct CheckpointsTest : testing::Test {
    CheckpointsTest() {
        for (const Rank rank : {0U, 1U}) order.add_member(rank);
        checkpoints.start(kStart);
    }
    void push(Rank rank) { order.stored(rank, order.clocks().find(rank)->clock, kStart); }
    void begin(TimePoint now) { checkpoints.begin(order.checkpoint(), 2, order, now); }
    std::optional<CheckpointEnded> saved(uint32_t shard, const std::string& failure = {}) {
        return checkpoints.saved(from(1, ServerSaved{1, 1, order.position(), shard, failure}),
                                 kStart);
    }

    Server order{ServerOptions{}};
    Checkpoints checkpoints{seconds(10)};
};

TEST_F(CheckpointsTest, OneIsDueAtTheIntervalIfSomethingHasChanged) {
    EXPECT_FALSE(checkpoints.is_due(order, kStart + seconds(100)));
    EXPECT_FALSE(checkpoints.next_due(order));
    push(0);
    EXPECT_EQ(checkpoints.next_due(order), kStart + seconds(10));
    EXPECT_FALSE(checkpoints.is_due(order, kStart + seconds(9)));
    EXPECT_TRUE(checkpoints.is_due(order, kStart + seconds(10)));
    begin(kStart + seconds(12));
    EXPECT_FALSE(checkpoints.is_due(order, kStart + seconds(30)));  // one at a time
    EXPECT_FALSE(saved(0));
    EXPECT_FALSE(saved(0));  // repeated
    EXPECT_TRUE(saved(1));
    EXPECT_FALSE(checkpoints.is_due(order, kStart + seconds(30)));  // nothing has changed
    push(1);
    EXPECT_EQ(checkpoints.next_due(order), kStart + seconds(22));
    ASSERT_TRUE(checkpoints.last());
}

TEST_F(CheckpointsTest, WhoAsksGetsItsOwnUpdatesSaved) {
    Checkpoints asked(Duration::zero());
    push(0);
    EXPECT_FALSE(asked.is_due(order, kStart + seconds(100)));
    asked.ask(0, 2);
    EXPECT_FALSE(asked.is_due(order, kStart));
    push(0);
    EXPECT_TRUE(asked.is_due(order, kStart));
    asked.ask(1, 5);
    asked.begin(order.checkpoint(), 1, order, kStart);
    const auto ended = asked.saved(from(1, ServerSaved{1, 1, order.position(), 0, {}}), kStart);
    ASSERT_TRUE(ended);
    ASSERT_EQ(ended->answers.size(), 1U);
    EXPECT_EQ(ended->answers[0].rank, 0U);
    EXPECT_EQ(ended->answers[0].own, 2U);
    EXPECT_FALSE(asked.is_due(order, kStart));  // worker 1 has not pushed that far
    asked.forget(1);
    for (int i = 0; i < 5; ++i) push(1);
    EXPECT_FALSE(asked.is_due(order, kStart));
}

TEST_F(CheckpointsTest, APartThatFailsEndsItAndTheIntervalTriesAgain) {
    push(0);
    begin(kStart + seconds(10));
    const auto ended = saved(1, "no space");
    ASSERT_TRUE(ended);
    EXPECT_EQ(ended->failure, "no space");
    EXPECT_EQ(checkpoints.failure(), "no space");
    EXPECT_FALSE(checkpoints.last());
    EXPECT_FALSE(saved(0));  // of a checkpoint that has ended
    EXPECT_TRUE(checkpoints.is_due(order, kStart + seconds(20)));
    begin(kStart + seconds(20));
    EXPECT_FALSE(saved(0));
    EXPECT_TRUE(saved(1));
    EXPECT_TRUE(checkpoints.failure().empty());
}

TEST_F(CheckpointsTest, AChangeOfViewEndsIt) {
    push(0);
    begin(kStart + seconds(10));
    checkpoints.abandon();
    EXPECT_FALSE(saved(0));
    EXPECT_TRUE(checkpoints.is_due(order, kStart + seconds(20)));
}

}  // namespace
}  // namespace pace::controller
