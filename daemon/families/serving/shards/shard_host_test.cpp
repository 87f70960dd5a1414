// The shards of a model that a node keeps: when they are made, and what becomes of them when the
// order is broken.
#include "daemon/families/serving/shards/shard_host.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/loop/event_loop.h"
#include "base/threads/release_thread.h"

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
                     [](uint32_t, ShardHost::Copy, const server::Ledger&) {},
                     [](uint32_t, uint64_t, uint64_t) {},
                     [](const base::Error& error) { ADD_FAILURE() << error.message; }}};
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

// The old shard's memory is given back in a thread of its own, which may take longer.
TEST_F(ShardHostTest, AShardOfAnotherGenerationIsNotPaidForBesideTheOldOne) {
    constexpr uint64_t kElements = uint64_t{4} << 20U;  // the node keeps half of them
    const base::ReleaseThread releaser;
    const auto accounts = Accounts::create({.user_bytes_max = kElements * 3});
    ShardHost host(kElements, false, {accounts, 1001},
                   {.pulled = [](ShardHost::Part) {},
                    .save = [](uint32_t, ShardHost::Copy, const server::Ledger&) {},
                    .load = [](uint32_t, uint64_t, uint64_t) {},
                    .failed = [](const base::Error& error) { ADD_FAILURE() << error.message; }});
    for (uint64_t generation = 1; generation < 20; ++generation) {
        const auto committed = host.commit(view(generation, 0, true), kKeeper);
        ASSERT_TRUE(committed) << committed.error().message;
        EXPECT_EQ(accounts->bytes_used(), kElements * 2);
    }
}

// The update came before the model of the round that the order names first.
TEST_F(ShardHostTest, AnUpdateThatWasOrderedBeforeItCameIsKeptUntilTheOrderIsActedUpon) {
    const auto accounts = Accounts::create({});
    std::vector<ShardHost::Part> pulled;
    ShardHost host(8, true, {accounts, 1001},
                   {.pulled = [&](ShardHost::Part part) { pulled.push_back(std::move(part)); },
                    .save = [](uint32_t, ShardHost::Copy, const server::Ledger&) {},
                    .load = [](uint32_t, uint64_t, uint64_t) {},
                    .failed = [](const base::Error& error) { ADD_FAILURE() << error.message; }});
    ASSERT_TRUE(host.commit(view(1, 0, true), kKeeper));
    const auto step = [](uint64_t position, ServerStep what, uint64_t clock, uint64_t reached) {
        ServerEntry one = entry(position, what);
        one.clock = clock;
        one.rate = 1;
        one.worker.clock = reached;
        return one;
    };
    std::vector<ServerEntry> news;
    ASSERT_TRUE(host.hear({step(1, ServerStep::join, 0, 0), step(2, ServerStep::assign, 5, 0),
                           step(3, ServerStep::push, 0, 1), step(4, ServerStep::pull, 1, 1)},
                          news));
    ASSERT_EQ(host.awaited_round(), 5U);
    host.hold(0, 0, 0,
              std::make_shared<const server::HybridVector>(
                  server::HybridVector::of(std::vector<float>(4, 2.0F))));
    ASSERT_TRUE(host.hold_model(0, 5, server::Floats::of(std::vector<float>(4, 1.0F))));
    ASSERT_EQ(pulled.size(), 1U);
    EXPECT_TRUE(std::ranges::equal(pulled[0].elements.elements, std::vector<float>(4, 3.0F)));
}

TEST_F(ShardHostTest, AShardIsMadeWhenItsGenerationBegins) {
    ASSERT_TRUE(host_.commit(view(1, 0, true), kKeeper));
    EXPECT_TRUE(host_.keeps(0));
    EXPECT_FALSE(host_.keeps(1));
    ASSERT_TRUE(hear({entry(1, ServerStep::pull)}));
    ASSERT_EQ(pulled_.size(), 1U);
    EXPECT_TRUE(std::ranges::equal(pulled_[0].elements.elements, std::vector<float>(4, 0.0F)));
    // The next view does not say again that the model begins, and finds the shard there.
    ASSERT_TRUE(host_.commit(view(1, 1, false), kKeeper));
    EXPECT_TRUE(host_.keeps(0));
}

// A shard that the controller counts upon may be gone since it was told of it. Zeros instead of the
// shard would make a model of two moments.
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
    // The view was decided before the loss was known.
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

// ---------------------------------------------------------------------- the memory beside the loop

// A host whose every step counts as large.
class ShardHostAside : public testing::Test {
  protected:
    static constexpr float kUpdate = 2;

    void SetUp() override {
        CommitView view;
        view.shards = {kKeeper, kKeeper};
        view.generation = 1;
        view.model_begins = true;
        ASSERT_TRUE(host_->commit(view, kKeeper));
    }
    void finish(const std::function<bool()>& done) {
        while (!done()) loop_->turn(true);
    }
    void hold(uint32_t shard, uint64_t clock) {
        host_->hold(shard, 0, clock,
                    std::make_shared<const server::HybridVector>(
                        server::HybridVector::of(std::vector<float>(4, kUpdate))));
    }
    base::Result<> hear(ServerStep step, uint64_t clock = 0) {
        ServerEntry entry;
        entry.position = ++position_;
        entry.step = step;
        entry.clock = clock;
        entry.rate = 1;
        entry.count = 8;
        entry.worker.clock = clock + 1;
        std::vector<ServerEntry> news;
        return host_->hear({entry}, news);
    }
    void push(uint64_t clock) {
        hold(0, clock);
        hold(1, clock);
        EXPECT_TRUE(hear(ServerStep::push, clock));
    }

    std::unique_ptr<base::EventLoop> loop_ = base::EventLoop::create().value();
    kernels::WorkerPool pool_{2};
    std::vector<ShardHost::Part> pulled_;
    std::vector<uint32_t> saved_;
    std::vector<base::Error> errors_;
    uint64_t position_ = 0;
    const std::unique_ptr<ShardHost> host_ = std::make_unique<ShardHost>(
        8, false, Payer{Accounts::create(), 1001},
        ShardHost::Hooks{
            [this](ShardHost::Part part) { pulled_.push_back(std::move(part)); },
            [this](uint32_t shard, const ShardHost::Copy& copy, const server::Ledger& ledger) {
                ASSERT_TRUE(copy);
                std::vector<float> model(4);
                (*copy)->read(0, model);
                EXPECT_EQ(model,
                          std::vector<float>(4, kUpdate * static_cast<float>(ledger.pushes)));
                saved_.push_back(shard);
            },
            [](uint32_t, uint64_t, uint64_t) {},
            [this](const base::Error& error) {
                errors_.push_back(error);
                host_->forget();
            }},
        kernels::Aside(pool_, loop_->poster(), 0));
};

TEST_F(ShardHostAside, APullGetsTheModelOfItsPlaceThoughTheOrderHasGoneOn) {
    constexpr uint64_t kPulls = 20;
    for (uint64_t clock = 0; clock < kPulls; ++clock) {
        push(clock);
        EXPECT_TRUE(hear(ServerStep::pull, clock));
    }
    EXPECT_TRUE(pulled_.empty()) << "nothing is done at once";
    finish([this] { return pulled_.size() == 2 * kPulls; });
    for (size_t i = 0; i < pulled_.size(); ++i) {
        EXPECT_EQ(pulled_[i].shard, i % 2);
        const std::vector<float> model(4, kUpdate * static_cast<float>(i / 2 + 1));
        EXPECT_TRUE(std::ranges::equal(pulled_[i].elements.elements, model)) << i;
    }
    EXPECT_TRUE(errors_.empty());
}

TEST_F(ShardHostAside, ACheckpointHasTheModelOfItsPlace) {
    push(0);
    EXPECT_TRUE(hear(ServerStep::checkpoint));
    push(1);
    finish([this] { return saved_.size() == 2; });
}

TEST_F(ShardHostAside, ARoundsModelFollowsWhatWasOrderedBefore) {
    push(0);
    EXPECT_TRUE(hear(ServerStep::assign, 7));
    EXPECT_TRUE(hear(ServerStep::pull));
    for (uint32_t shard = 0; shard < 2; ++shard)
        EXPECT_TRUE(host_->hold_model(shard, 7, server::Floats::of(std::vector<float>(4, 9))));
    finish([this] { return pulled_.size() == 2; });
    for (const ShardHost::Part& part : pulled_)
        EXPECT_TRUE(std::ranges::equal(part.elements.elements, std::vector<float>(4, 9)));
}

TEST_F(ShardHostAside, WhatTheOrderNamesAndIsNotHereIsToldOfOnceThatIsKnown) {
    EXPECT_TRUE(hear(ServerStep::push, 3)) << "nobody has looked yet";
    EXPECT_TRUE(hear(ServerStep::pull));
    finish([this] { return !errors_.empty(); });
    EXPECT_EQ(errors_.front().kind, base::ErrorKind::internal);
    EXPECT_NE(errors_.front().message.find("clock 3"), std::string::npos);
    for (int i = 0; i < 10; ++i) loop_->turn(false);
    EXPECT_TRUE(pulled_.empty()) << "the shards are of no use";
    EXPECT_EQ(errors_.size(), 1U);
}

TEST_F(ShardHostAside, WhatIsForgottenIsToldOfNoMore) {
    push(0);
    EXPECT_TRUE(hear(ServerStep::pull));
    host_->forget();
    SetUp();
    position_ = 0;
    EXPECT_TRUE(hear(ServerStep::pull));
    finish([this] { return !pulled_.empty(); });
    EXPECT_TRUE(std::ranges::equal(pulled_.front().elements.elements, std::vector<float>(4, 0)));
}

TEST_F(ShardHostAside, WhatIsKnownOfAShardFollowsItsMemory) {
    push(0);
    push(1);
    EXPECT_TRUE(hear(ServerStep::pull));
    finish([this] { return pulled_.size() == 2; });
    EXPECT_EQ(host_->shards().at(1).count, 4U);
    EXPECT_EQ(host_->shards().at(1).versions, 1U);
    EXPECT_EQ(host_->shards().at(1).memory.versions, 16U);
    EXPECT_EQ(host_->shards().at(1).memory.held, 0U);
}

}  // namespace
}  // namespace pace::daemon
