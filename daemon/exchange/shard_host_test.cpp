// The shards of a model that a node keeps: when they are made, and what becomes of them when the order is broken.
#include "daemon/exchange/shard_host.h"

#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace pace::daemon {
namespace {

using control::CommitView;
using control::ServerEntry;
using control::ServerStep;

constexpr control::NodeId kKeeper = 7;
constexpr control::NodeId kOtherKeeper = 8;

// A node that keeps the first of two shards of four elements.
class ShardHostTest : public testing::Test {
  protected:
    static CommitView view(uint64_t generation, uint64_t position, bool begins) {
        CommitView view;
        view.shards = {kKeeper, kOtherKeeper};
        view.generation = generation;
        view.ledger.position = position;
        view.model_begins = begins;
        return view;
    }
    static ServerEntry entry(uint64_t position, ServerStep step) {
        ServerEntry entry;
        entry.position = position;
        entry.step = step;
        entry.count = 8;
        return entry;
    }
    base::Result<> hear(std::vector<ServerEntry> entries) {
        std::vector<ServerEntry> news;
        return host_.hear(entries, news);
    }

    std::vector<ShardHost::Part> pulled_;
    ShardHost host_{8,
                    false,
                    {Accounts::create({.user_bytes_max = 64}), 1001},
                    {[this](ShardHost::Part part) { pulled_.push_back(std::move(part)); },
                     [](uint32_t, const server::Shard&, const server::Ledger&) {},
                     [](uint32_t, uint64_t, uint64_t) {}}};
};

TEST_F(ShardHostTest, AShardForWhichThereIsNoRoomIsAnErrorThatNamesTheSetting) {
    const Charge others = host_.payer().count(60);
    const auto refused = host_.commit(view(1, 0, true), kKeeper);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, base::ErrorKind::limit);
    EXPECT_NE(refused.error().message.find("user_bytes_max"), std::string::npos);
}

TEST_F(ShardHostTest, AShardIsPaidForUntilItIsForgotten) {
    const Payer payer = host_.payer();
    ASSERT_TRUE(host_.commit(view(1, 0, true), kKeeper));
    EXPECT_EQ(payer.accounts->bytes_used(), 16U);
    ASSERT_TRUE(host_.commit(view(2, 0, true), kKeeper));
    EXPECT_EQ(payer.accounts->bytes_used(), 16U) << "another in its place";
    host_.forget();
    EXPECT_EQ(payer.accounts->bytes_used(), 0U);
}

TEST_F(ShardHostTest, AShardIsMadeWhenItsGenerationBegins) {
    ASSERT_TRUE(host_.commit(view(1, 0, true), kKeeper));
    EXPECT_TRUE(host_.keeps(0));
    EXPECT_FALSE(host_.keeps(1));
    ASSERT_TRUE(hear({entry(1, ServerStep::pull)}));
    ASSERT_EQ(pulled_.size(), 1U);
    EXPECT_EQ(pulled_[0].elements, std::vector<float>(4, 0.0F));
    // The next view says so no more, and finds it there.
    ASSERT_TRUE(host_.commit(view(1, 1, false), kKeeper));
    EXPECT_TRUE(host_.keeps(0));
}

// What the controller counts upon may be gone since it was told: zeros in its place would be a model of two moments.
TEST_F(ShardHostTest, AShardOfAModelUnderWayIsNeverMade) {
    const auto committed = host_.commit(view(1, 640, false), kKeeper);
    ASSERT_FALSE(committed);
    EXPECT_NE(committed.error().message.find("shard 0"), std::string::npos);
    EXPECT_NE(committed.error().message.find("640"), std::string::npos);
    EXPECT_FALSE(host_.keeps_any());
    EXPECT_TRUE(pulled_.empty());
}

TEST_F(ShardHostTest, AfterAGapInTheOrderTheShardsAreLostUntilAnotherGenerationBegins) {
    ASSERT_TRUE(host_.commit(view(1, 0, true), kKeeper));
    ASSERT_TRUE(hear({entry(1, ServerStep::pull)}));
    pulled_.clear();
    EXPECT_FALSE(hear({entry(11, ServerStep::pull)}));
    EXPECT_TRUE(pulled_.empty());
    host_.forget();
    // The view was decided before that was known.
    EXPECT_FALSE(host_.commit(view(1, 11, false), kKeeper));
    EXPECT_FALSE(host_.keeps_any());
    ASSERT_TRUE(host_.commit(view(2, 11, true), kKeeper));
    EXPECT_TRUE(host_.keeps(0));
    ASSERT_TRUE(hear({entry(12, ServerStep::pull)}));
    EXPECT_EQ(pulled_.size(), 1U);
}

TEST_F(ShardHostTest, ANodeWithoutShardsJoinsAModelUnderWay) {
    ASSERT_TRUE(host_.commit(view(1, 640, false), 9));
    EXPECT_EQ(host_.generation(), 1U);
    EXPECT_FALSE(host_.keeps_any());
    EXPECT_TRUE(hear({entry(641, ServerStep::pull)}));
    EXPECT_TRUE(pulled_.empty());
}

}  // namespace
}  // namespace pace::daemon
