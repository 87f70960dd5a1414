// Tests what the store does with what workers give.
#include <cstring>

#include <gtest/gtest.h>

#include "daemon/collectives/tests/test_data.h"
#include "daemon/partial/store.h"

namespace pace::partial {
namespace {

using collectives::Layout;
using collectives::read_value;
using collectives::Worker;
using protocol::DType;

// All element types, and an empty buffer.
const Layout kAllTypes(
    {{DType::f32, 5}, {DType::f16, 7}, {DType::f64, 3}, {DType::bf16, 9}, {DType::f32, 0}});

Worker constant_worker(const Layout& layout, double value) {
    return collectives::make_worker(layout, 1.0, [value](size_t) { return value; });
}

Segments segments_of(const Worker& worker) {
    Segments segments;
    for (const auto& bytes : worker.segments) segments.push_back(bytes.data());
    return segments;
}

std::vector<double> values_of(const Layout& layout, const Segments& segments) {
    std::vector<double> values;
    for (size_t s = 0; s < layout.segments().size(); ++s)
        for (size_t i = 0; i < layout.segments()[s].count; ++i)
            values.push_back(read_value(layout.segments()[s].dtype, segments[s], i));
    return values;
}

void expect_all(const Layout& layout, const Contribution& contribution, double value) {
    for (const double each : values_of(layout, contribution.segments())) ASSERT_EQ(each, value);
}

const std::vector<Rank> kOne = {3};

struct StoreTest : testing::Test {
    StoreTest() { store.join(3, 0); }

    HandIn hand_in(const Worker& worker) {
        const auto outcome = store.hand_in(3, segments_of(worker), nullptr);
        EXPECT_TRUE(outcome.ok());
        return outcome.ok() ? *outcome : HandIn::forgotten;
    }

    Store store{kAllTypes, Late::accumulate};
    Worker one = constant_worker(kAllTypes, 1);
    Worker ten = constant_worker(kAllTypes, 10);
};

TEST_F(StoreTest, AGradientInTimeStaysWhereItIs) {
    EXPECT_EQ(hand_in(one), HandIn::lent);
    const auto taken = store.take(0, kOne);
    ASSERT_EQ(taken.size(), 1U);
    EXPECT_EQ(taken[0].contribution.segments()[0], one.segments[0].data());
    EXPECT_EQ(taken[0].contribution.staleness(0), 0U);
}

TEST_F(StoreTest, ALateGradientIsCopiedAndGoesIntoTheNextRound) {
    EXPECT_TRUE(store.take(0, kOne).empty());
    EXPECT_EQ(hand_in(one), HandIn::copied);
    one = ten;  // the worker changes its memory again
    EXPECT_EQ(store.staleness(3, 1), 1U);
    const auto taken = store.take(1, kOne);
    ASSERT_EQ(taken.size(), 1U);
    expect_all(kAllTypes, taken[0].contribution, 1);
    EXPECT_TRUE(store.take(2, kOne).empty());
}

TEST_F(StoreTest, AFreshGradientIsAddedToTheStaleOne) {
    EXPECT_TRUE(store.take(0, kOne).empty());
    EXPECT_EQ(hand_in(one), HandIn::copied);
    store.advance(3, 1);
    EXPECT_EQ(hand_in(ten), HandIn::copied);
    const auto taken = store.take(1, kOne);
    ASSERT_EQ(taken.size(), 1U);
    EXPECT_EQ(taken[0].contribution.gradients(), 2U);
    EXPECT_EQ(taken[0].contribution.staleness(1), 1U);
    expect_all(kAllTypes, taken[0].contribution, 11);
}

TEST_F(StoreTest, HalfTypesAreAddedInF32AndRoundedOnce) {
    const Layout layout({{DType::f16, 1}, {DType::bf16, 1}});
    Store halves(layout, Late::accumulate);
    halves.join(0, 0);
    const std::vector<Rank> ranks = {0};
    EXPECT_TRUE(halves.take(0, ranks).empty());
    // 2048 + 1 is a tie in f16 and goes to even. So is 256 + 1 in bf16.
    const Worker large =
        collectives::make_worker(layout, 1.0, [](size_t i) { return i == 0 ? 2048 : 256; });
    const Worker small = constant_worker(layout, 1);
    const Worker more = constant_worker(layout, 3);
    ASSERT_TRUE(halves.hand_in(0, segments_of(large), nullptr).ok());
    ASSERT_TRUE(halves.hand_in(0, segments_of(small), nullptr).ok());
    auto taken = halves.take(1, ranks);
    EXPECT_EQ(values_of(layout, taken[0].contribution.segments()),
              (std::vector<double>{2048, 256}));
    EXPECT_TRUE(halves.put_back(1, std::move(taken)).ok());
    ASSERT_TRUE(halves.hand_in(0, segments_of(more), nullptr).ok());
    taken = halves.take(1, ranks);
    EXPECT_EQ(values_of(layout, taken[0].contribution.segments()),
              (std::vector<double>{2052, 260}));
}

TEST_F(StoreTest, WhatIsHandedInAfterTheTakeIsForTheNextRound) {
    hand_in(one);
    const auto first = store.take(0, kOne);
    EXPECT_EQ(hand_in(ten), HandIn::copied);
    const auto second = store.take(1, kOne);
    expect_all(kAllTypes, first[0].contribution, 1);
    expect_all(kAllTypes, second[0].contribution, 10);
}

TEST_F(StoreTest, AFailedRoundPutsBackWhatItTookBeforeWhatCameMeanwhile) {
    hand_in(one);
    auto taken = store.take(0, kOne);
    EXPECT_TRUE(store.put_back(0, std::move(taken)).ok());
    EXPECT_EQ(store.staleness(3, 0), 0U);
    taken = store.take(0, kOne);
    hand_in(ten);
    EXPECT_TRUE(store.put_back(0, std::move(taken)).ok());
    taken = store.take(0, kOne);
    ASSERT_EQ(taken.size(), 1U);
    EXPECT_EQ(taken[0].contribution.gradients(), 2U);
    expect_all(kAllTypes, taken[0].contribution, 11);
    // The worker's own memory is only read.
    expect_all(kAllTypes, Contribution::lend(0, segments_of(one), nullptr), 1);
}

TEST_F(StoreTest, ARoundThatIsRedoneIsStillInTimeForItsGradients) {
    EXPECT_TRUE(store.take(0, kOne).empty());
    EXPECT_TRUE(store.put_back(0, {}).ok());
    EXPECT_EQ(hand_in(one), HandIn::lent);
}

TEST_F(StoreTest, BackupWorkersForgetWhatIsLate) {
    Store dropping(kAllTypes, Late::drop);
    dropping.join(3, 0);
    EXPECT_TRUE(dropping.take(0, kOne).empty());
    EXPECT_EQ(*dropping.hand_in(3, segments_of(one), nullptr), HandIn::forgotten);
    EXPECT_TRUE(dropping.take(1, kOne).empty());
    dropping.advance(3, 2);
    EXPECT_EQ(*dropping.hand_in(3, segments_of(one), nullptr), HandIn::lent);
    EXPECT_TRUE(dropping.awaited(1000, 1).empty());
}

TEST_F(StoreTest, WhoeverGivesNothingHasNothingTaken) {
    EXPECT_EQ(*store.hand_in(3, {}, nullptr), HandIn::forgotten);
    EXPECT_FALSE(store.staleness(3, 0).has_value());
    EXPECT_TRUE(store.take(0, kOne).empty());
}

TEST_F(StoreTest, SecureGivesTheWorkerItsMemoryBack) {
    hand_in(one);
    EXPECT_TRUE(store.secure(3).ok());
    one = ten;
    const auto taken = store.take(0, kOne);
    expect_all(kAllTypes, taken[0].contribution, 1);
}

TEST_F(StoreTest, WhatIsLentIsKeptAliveUntilItIsUsed) {
    const auto owner = std::make_shared<Worker>(one);
    ASSERT_TRUE(store.hand_in(3, segments_of(*owner), owner).ok());
    EXPECT_EQ(owner.use_count(), 2);
    store.recycle(store.take(0, kOne));
    EXPECT_EQ(owner.use_count(), 1);
}

TEST_F(StoreTest, TheMemoryOfALateGradientServesTheNext) {
    store.take(0, kOne);
    hand_in(one);
    auto taken = store.take(1, kOne);
    const std::byte* memory = taken[0].contribution.segments()[0];
    store.recycle(std::move(taken));
    hand_in(ten);
    EXPECT_EQ(store.take(2, kOne)[0].contribution.segments()[0], memory);
}

TEST_F(StoreTest, RoundsWaitForAWorkerBeforeItsGradientGetsTooOld) {
    // The worker's base is 0. If round 4 goes without the worker, its gradient counts in round 5 at
    // the earliest.
    EXPECT_TRUE(store.awaited(4, 5).empty());
    EXPECT_EQ(store.awaited(4, 4), kOne);
    EXPECT_EQ(store.awaited(0, 0), kOne);  // as in an ordinary all-reduce
    store.take(3, kOne);
    hand_in(one);
    EXPECT_TRUE(store.awaited(4, 4).empty());
    store.take(4, kOne);
    store.advance(3, 5);
    EXPECT_TRUE(store.awaited(5, 4).empty());
    EXPECT_EQ(store.awaited(9, 4), kOne);
    store.leave(3);
    EXPECT_TRUE(store.awaited(9, 4).empty());
}

TEST_F(StoreTest, AStrangerOrAWrongNumberOfBuffersIsRefused) {
    EXPECT_EQ(store.hand_in(4, segments_of(one), nullptr).error().message,
              "worker 4 is not known to this node; join it first");
    EXPECT_EQ(store.hand_in(3, {nullptr}, nullptr).error().message,
              "worker 3 hands in 1 buffers, but the job has 5");
    EXPECT_FALSE(store.staleness(3, 0).has_value());
}

TEST_F(StoreTest, WhatADeadWorkerGaveIsNotPutBack) {
    hand_in(one);
    auto taken = store.take(0, kOne);
    store.leave(3);
    EXPECT_TRUE(store.put_back(0, std::move(taken)).ok());
    store.join(3, 0);
    EXPECT_FALSE(store.staleness(3, 0).has_value());
}

}  // namespace
}  // namespace pace::partial
