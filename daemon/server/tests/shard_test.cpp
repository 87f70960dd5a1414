// Shard tests: compare shards with the printed algorithm, and with each other. The cuts of a model
// must not matter.
#include "daemon/server/shard.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include <gtest/gtest.h>

#include "base/random.h"
#include "base/sanitized.h"
#include "daemon/server/partition.h"
#include "daemon/server/tests/test_vectors.h"

namespace pace::server {
namespace {

// Jiang et al., Algorithm 2, push and pull line by line, in doubles. There are two additional
// decisions: V never decreases, and versions older than all of V are removed. The class also
// returns the entries that the controller would announce.
class DynSgd {
  public:
    DynSgd(size_t elements, uint32_t workers) : w(elements, 0.0), v_(workers), clock_(workers) {}

    Entry push(uint32_t rank, const std::vector<float>& u) {
        const uint64_t v = v_[rank];
        auto& global = global_.try_emplace(v, std::vector<double>(w.size(), 0.0)).first->second;
        const auto d = static_cast<double>(++pushed_[v]);
        for (size_t i = 0; i < w.size(); ++i) {
            const double change = (static_cast<double>(u[i]) - global[i]) / d;
            w[i] += change;
            global[i] += change;
        }
        Entry entry = next(Step::push, rank);
        entry.clock = clock_[rank]++;
        entry.version = v;
        entry.rate = 1 / d;
        v_[rank] = v + 1;
        c_max_ = std::max(c_max_, clock_[rank]);
        evict(entry);
        return entry;
    }
    Entry pull(uint32_t rank) {
        v_[rank] = std::max(v_[rank], c_max_);
        Entry entry = next(Step::pull, rank);
        evict(entry);
        return entry;
    }

    std::vector<double> w;

  private:
    Entry next(Step step, uint32_t rank) {
        Entry entry;
        entry.position = ++position_;
        entry.step = step;
        entry.rank = rank;
        return entry;
    }
    void evict(Entry& entry) {
        const uint64_t oldest = *std::min_element(v_.begin(), v_.end());
        while (!global_.empty() && global_.begin()->first < oldest) {
            entry.expired.push_back(global_.begin()->first);
            global_.erase(global_.begin());
        }
    }
    std::map<uint64_t, std::vector<double>> global_;
    std::map<uint64_t, uint64_t> pushed_;
    std::vector<uint64_t> v_;
    std::vector<uint64_t> clock_;
    uint64_t c_max_ = 0;
    uint64_t position_ = 0;
};

std::vector<float> model_of(Shard& shard) {
    shard.settle();
    std::vector<float> model(shard.count());
    shard.read(0, model);
    return model;
}

// A model in several shards.
class Shards {
  public:
    Shards(size_t elements, uint32_t shards) : partition_(elements, shards) {
        for (uint32_t i = 0; i < shards; ++i) shards_.emplace_back(partition_.range(i).size());
    }
    void hold(uint32_t rank, uint64_t clock, const std::vector<float>& update) {
        for (uint32_t i = 0; i < partition_.shards(); ++i) {
            const Range range = partition_.range(i);
            shards_[i].hold(rank, clock,
                            HybridVector::of(std::span(update).subspan(range.begin, range.size())));
        }
    }
    void act(const Entry& entry) {
        for (Shard& shard : shards_) ASSERT_TRUE(shard.act(entry));
    }
    std::vector<float> model() {
        std::vector<float> all;
        for (Shard& shard : shards_) {
            const std::vector<float> part = model_of(shard);
            all.insert(all.end(), part.begin(), part.end());
        }
        return all;
    }
    std::vector<Shard>& shards() { return shards_; }

  private:
    Partition partition_;
    std::vector<Shard> shards_;
};

constexpr uint32_t kWorkers = 6;

// A run of pushes and pulls, the same for equal seeds.
template <typename Act>
void run(size_t elements, double share, uint64_t seed, Act&& act) {
    base::Random random(seed);
    DynSgd reference(elements, kWorkers);
    for (int step = 0; step < 120; ++step) {
        const auto rank = static_cast<uint32_t>(std::min(random.below(kWorkers), random.below(8)));
        if (random.below(4) == 0) {
            act(reference.pull(rank), std::vector<float>(), reference.w);
        } else {
            const std::vector<float> update = drawn(elements, share, random);
            act(reference.push(rank, update), update, reference.w);
        }
    }
}

TEST(Shard, OfMoreElementsThanThereCanBeIsAnErrorAndNoException) {
    const auto shard = Shard::create(~size_t{0});
    ASSERT_FALSE(shard);
    EXPECT_EQ(shard.error().kind, base::ErrorKind::memory);
    EXPECT_EQ(Shard::create(3)->count(), 3U);
}

TEST(Shard, OfMoreElementsThanThereIsMemoryIsAnErrorAndNoException) {
    if (base::kSanitized) GTEST_SKIP() << "a sanitizer ends a program that asks for so much";
    const auto shard = Shard::create(size_t{1} << 46U);
    ASSERT_FALSE(shard);
    EXPECT_EQ(shard.error().kind, base::ErrorKind::memory);
}

TEST(Shard, FollowsTheTableOfAppendixC) {
    struct Row {
        uint32_t worker;
        float update;  // 0 means a pull
        float w;
    };
    const std::vector<Row> rows = {{0, 12, 12}, {0, 8, 20},  {1, 6, 17},  {2, 3, 15}, {0, 4, 19},
                                   {1, 0, 19},  {3, -5, 16}, {1, 10, 26}, {1, 0, 26}, {1, 20, 46}};
    DynSgd reference(1, 4);
    Shard shard(1);
    for (const Row& row : rows) {
        Entry entry;
        if (row.update == 0) {
            entry = reference.pull(row.worker);
        } else {
            entry = reference.push(row.worker, {row.update});
            shard.hold(row.worker, entry.clock, HybridVector::of(std::vector<float>{row.update}));
        }
        ASSERT_TRUE(shard.act(entry));
        EXPECT_EQ(model_of(shard)[0], row.w) << "position " << entry.position;
        EXPECT_DOUBLE_EQ(reference.w[0], static_cast<double>(row.w));
    }
}

class AnyShards : public testing::TestWithParam<uint32_t> {};

TEST_P(AnyShards, HaveTheBitsOfOneAndWhatTheAlgorithmSays) {
    for (const double share : {0.01, 0.3, 1.0}) {
        constexpr size_t kElements = 331;
        Shards one(kElements, 1);
        Shards many(kElements, GetParam());
        run(kElements, share, GetParam(),
            [&](const Entry& entry, const auto& update, const auto& w) {
                if (entry.step == Step::push) {
                    one.hold(entry.rank, entry.clock, update);
                    many.hold(entry.rank, entry.clock, update);
                }
                one.act(entry);
                many.act(entry);
                const std::vector<float> model = one.model();
                ASSERT_EQ(model, many.model()) << "position " << entry.position;
                for (size_t i = 0; i < kElements; ++i)
                    ASSERT_NEAR(model[i], w[i], 1e-5) << "position " << entry.position;
            });
    }
}

INSTANTIATE_TEST_SUITE_P(Counts, AnyShards, testing::Range(1U, 18U));

// The arrival times of updates are random; the shard at a position is not.
TEST(Shard, UpdatesThatComeInAnotherOrderMakeTheSameModel) {
    constexpr size_t kElements = 200;
    struct Pushed {
        uint32_t rank;
        uint64_t clock;
        std::vector<float> update;
    };
    std::vector<Entry> entries;
    std::vector<Pushed> pushed;
    Shards inorder(kElements, 1);
    run(kElements, 0.2, 5, [&](const Entry& entry, const auto& update, const auto&) {
        if (entry.step == Step::push) {
            inorder.hold(entry.rank, entry.clock, update);
            pushed.push_back({entry.rank, entry.clock, update});
        }
        inorder.act(entry);
        entries.push_back(entry);
    });
    Shards early(kElements, 1);
    for (auto at = pushed.rbegin(); at != pushed.rend(); ++at)
        early.hold(at->rank, at->clock, at->update);
    for (const Entry& entry : entries) early.act(entry);
    EXPECT_EQ(early.model(), inorder.model());
}

TEST(Shard, AReadRangeIsAPartOfTheWhole) {
    Shards model(500, 1);
    run(500, 0.4, 6, [&](const Entry& entry, const auto& update, const auto&) {
        if (entry.step == Step::push) model.hold(entry.rank, entry.clock, update);
        model.act(entry);
    });
    const std::vector<float> whole = model.model();
    std::vector<float> part(123);
    model.shards()[0].read(77, part);
    EXPECT_TRUE(std::equal(part.begin(), part.end(), whole.begin() + 77));
}

TEST(Shard, AnUpdateThatIsNotHereIsAnErrorAndChangesNothing) {
    Shard shard(2);
    shard.hold(0, 0, HybridVector::of(std::vector<float>{1, 2}));
    Entry entry;
    entry.position = 1;
    entry.rank = 1;
    entry.rate = 1;
    const auto result = shard.act(entry);
    ASSERT_FALSE(result);
    EXPECT_NE(result.error().message.find("rank 1 of clock 0"), std::string::npos);
    EXPECT_EQ(model_of(shard), (std::vector<float>{0, 0}));
    EXPECT_TRUE(shard.holds(0, 0));
}

TEST(Shard, AnAssignedModelReplacesAllAndNeedsAllElements) {
    Shard shard(2);
    shard.hold(0, 0, HybridVector::of(std::vector<float>{1, 2}));
    Entry push;
    push.position = 1;
    push.rate = 1;
    ASSERT_TRUE(shard.act(push));
    Entry assign;
    assign.position = 2;
    assign.step = Step::assign;
    assign.clock = 5;
    shard.hold_model(4, {1, 1});
    EXPECT_FALSE(shard.act(assign));
    EXPECT_FALSE(shard.holds_model(5));
    shard.hold_model(5, {7, 8});
    ASSERT_TRUE(shard.act(assign));
    EXPECT_FALSE(shard.holds_model(4));
    EXPECT_EQ(model_of(shard), (std::vector<float>{7, 8}));
    EXPECT_TRUE(shard.versions().empty());
}

TEST(Shard, WhatAWorkerHasLeftBehindNeverCounts) {
    const auto ones = [](float value) {
        return HybridVector::of(std::vector<float>{value, value, value, value});
    };
    Shard shard(4);
    for (uint64_t clock = 0; clock < 3; ++clock) shard.hold(1, clock, ones(1));
    shard.hold(2, 0, ones(1));
    EXPECT_EQ(shard.memory().held, 4 * 16U);
    Entry leave;
    leave.position = 1;
    leave.step = Step::leave;
    leave.rank = 1;
    ASSERT_TRUE(shard.act(leave));
    EXPECT_FALSE(shard.holds(1, 0));
    EXPECT_FALSE(shard.holds(1, 2));
    EXPECT_TRUE(shard.holds(2, 0));
    // An update of the former worker arrives late. The update of the rank's new worker comes after
    // it.
    shard.hold(1, 0, ones(1));
    shard.hold(1, 0, ones(5));
    Entry push;
    push.position = 2;
    push.rank = 1;
    push.rate = 1;
    ASSERT_TRUE(shard.act(push));
    EXPECT_EQ(model_of(shard), (std::vector<float>{5, 5, 5, 5}));
}

struct Waiting {
    uint32_t rank;
    uint64_t clock;
    std::vector<float> update;
};

// Without partition synchronization, updates come after the order has named them, in any order. The
// final model is the same.
TEST(Shard, UpdatesThatAreLateCountWhenTheyCome) {
    constexpr size_t kElements = 40;
    for (uint64_t seed = 1; seed <= 20; ++seed) {
        Shard in_time(kElements);
        Shard late(kElements);
        late.let_updates_be_late();
        base::Random random(seed);
        std::vector<Waiting> waiting;
        const auto bring_one = [&] {
            std::swap(waiting[random.below(waiting.size())], waiting.back());
            const Waiting& one = waiting.back();
            EXPECT_TRUE(late.awaits(one.rank, one.clock));
            late.hold(one.rank, one.clock, HybridVector::of(one.update));
            EXPECT_FALSE(late.awaits(one.rank, one.clock));
            waiting.pop_back();
        };
        bool differed = false;
        run(kElements, 0.3, seed, [&](const Entry& entry, const auto& update, const auto&) {
            if (entry.step == Step::push) {
                in_time.hold(entry.rank, entry.clock, HybridVector::of(update));
                if (random.below(2) == 0)
                    waiting.push_back({entry.rank, entry.clock, update});
                else
                    late.hold(entry.rank, entry.clock, HybridVector::of(update));
            }
            ASSERT_TRUE(in_time.act(entry));
            ASSERT_TRUE(late.act(entry));
            differed = differed || model_of(in_time) != model_of(late);
            if (waiting.size() > 8) bring_one();
        });
        while (!waiting.empty()) bring_one();
        EXPECT_TRUE(differed);
        const std::vector<float> expected = model_of(in_time);
        const std::vector<float> came = model_of(late);
        for (size_t i = 0; i < kElements; ++i) EXPECT_NEAR(came[i], expected[i], 1e-4F) << i;
    }
}

TEST(Shard, ALateUpdateOfAWorkerThatHasLeftOrOfAModelThatIsNoMoreDoesNotCount) {
    Shard shard(2);
    shard.let_updates_be_late();
    const auto push = [&shard](uint32_t rank) {
        Entry entry;
        entry.rank = rank;
        entry.rate = 1;
        entry.version = rank;
        ASSERT_TRUE(shard.act(entry));
    };
    push(1);
    push(2);
    Entry leave;
    leave.step = Step::leave;
    leave.rank = 1;
    ASSERT_TRUE(shard.act(leave));
    EXPECT_FALSE(shard.awaits(1, 0));
    Entry assign;
    assign.step = Step::assign;
    shard.hold_model(0, {3, 4});
    ASSERT_TRUE(shard.act(assign));
    shard.hold(2, 0, HybridVector::of(std::vector<float>{1, 1}));
    EXPECT_EQ(model_of(shard), (std::vector<float>{3, 4}));
}

// This shard answers a newcomer's pace_broadcast.
TEST(Shard, MovesTheBitsOfAModelThatNobodyHasPushedTo) {
    const std::vector<uint32_t> patterns{0x7F800001, 0xFF800001, 0x7FC12345, 0xFFFFFFFF,
                                         0x80000000};
    std::vector<float> model(patterns.size());
    std::memcpy(model.data(), patterns.data(), patterns.size() * sizeof(float));
    Shard shard(model.size());
    shard.hold_model(0, model);
    Entry assign;
    assign.step = Step::assign;
    ASSERT_TRUE(shard.act(assign));
    shard.settle();
    std::vector<float> out(model.size() - 1);
    shard.read(1, out);
    EXPECT_EQ(std::memcmp(out.data(), patterns.data() + 1, out.size() * sizeof(float)), 0);
}

TEST(Ledger, FollowsTheEntries) {
    Ledger ledger;
    uint64_t position = 0;
    size_t live = 0;
    run(10, 1.0, 7, [&](const Entry& entry, const auto&, const auto&) {
        ledger.add(entry);
        position = entry.position;
        live = std::max(live, ledger.versions.size());
    });
    EXPECT_EQ(ledger.position, position);
    EXPECT_GT(ledger.pushes, 60U);
    EXPECT_GT(live, 1U);
}

}  // namespace
}  // namespace pace::server
