// Tests what late workers are given.
#include <cstring>

#include <gtest/gtest.h>

#include "daemon/collectives/tests/test_data.h"
#include "daemon/partial/missed.h"

namespace pace::partial {
namespace {

using collectives::Bytes;
using collectives::Layout;
using protocol::DType;

const Layout kMixed(
    {{DType::f32, 5}, {DType::f16, 3}, {DType::f32, 0}, {DType::f64, 2}, {DType::bf16, 4}});

Bytes result_of(const Layout& layout, const std::function<double(size_t)>& value) {
    Bytes bytes(layout.bytes());
    size_t number = 0;
    for (size_t s = 0; s < layout.segments().size(); ++s)
        for (size_t i = 0; i < layout.segments()[s].count; ++i)
            collectives::write_value(layout.segments()[s].dtype, bytes.data() + layout.offset(s), i,
                                     value(number++));
    return bytes;
}

Missed::Outcome held(Bytes result) {
    const auto keep = std::make_shared<const Bytes>(std::move(result));
    return {keep->data(), keep};
}

struct Buffers {
    explicit Buffers(const Layout& layout) : bytes(layout.bytes()) {
        for (size_t s = 0; s < layout.segments().size(); ++s)
            pointers.push_back(bytes.data() + layout.offset(s));
    }
    Bytes bytes;
    std::vector<std::byte*> pointers;
};

TEST(Missed, ALateWorkerGetsTheSumOfTheRoundsThatItMissedOnce) {
    Missed missed(kMixed);
    const std::vector<Rank> late = {2};
    for (uint64_t round = 4; round < 8; ++round)
        ASSERT_TRUE(
            missed.add(round, held(result_of(kMixed, [&](size_t) { return round; })), late).ok());
    EXPECT_EQ(missed.rounds(2)->first, 4U);
    Buffers buffers(kMixed);
    const auto rounds = missed.take(2, buffers.pointers);
    ASSERT_TRUE(rounds.has_value());
    EXPECT_EQ(rounds->first, 4U);
    EXPECT_EQ(rounds->count, 4U);
    EXPECT_EQ(buffers.bytes, result_of(kMixed, [](size_t) { return 22; }));
    EXPECT_FALSE(missed.take(2, buffers.pointers).has_value());
    EXPECT_EQ(missed.sums(), 0U);
}

TEST(Missed, OneRoundMissedIsThatRoundBitForBit) {
    base::Random random(1);
    const Bytes result = result_of(kMixed, [&](size_t) { return random.uniform() - 0.5; });
    Missed missed(kMixed);
    ASSERT_TRUE(missed.add(0, held(result), std::vector<Rank>{0}).ok());
    Buffers buffers(kMixed);
    missed.take(0, buffers.pointers);
    EXPECT_EQ(buffers.bytes, result);
    const Bytes negative_zeros = result_of(kMixed, [](size_t) { return -0.0; });
    ASSERT_TRUE(missed.add(1, held(negative_zeros), std::vector<Rank>{0}).ok());
    missed.take(0, buffers.pointers);
    EXPECT_EQ(buffers.bytes, negative_zeros);
}

TEST(Missed, AddsFromTheFirstRoundMissedInTheirOrder) {
    const Layout layout({{DType::f32, 1}});
    // (1 + 2^-24) + 2^-24 is 1 in f32; 1 + (2^-24 + 2^-24) is not.
    const float tiny = 0x1.0p-24F;
    Missed missed(layout);
    uint64_t round = 0;
    for (const float value : {1.0F, tiny, tiny}) {
        ASSERT_TRUE(missed
                        .add(round++, held(result_of(layout, [&](size_t) { return value; })),
                             std::vector<Rank>{0})
                        .ok());
    }
    Buffers buffers(layout);
    missed.take(0, buffers.pointers);
    EXPECT_EQ(collectives::read_value(DType::f32, buffers.bytes.data(), 0), 1.0);
}

TEST(Missed, HalfTypesAreRoundedOnceAtTheEnd) {
    const Layout layout({{DType::f16, 1}, {DType::bf16, 1}});
    Missed missed(layout);
    const std::vector<Rank> late = {0};
    ASSERT_TRUE(
        missed.add(0, held(result_of(layout, [](size_t i) { return i == 0 ? 2048 : 256; })), late)
            .ok());
    for (uint64_t round = 1; round <= 4; ++round)
        ASSERT_TRUE(
            missed.add(round, held(result_of(layout, [](size_t) { return 1; })), late).ok());
    Buffers buffers(layout);
    missed.take(0, buffers.pointers);
    EXPECT_EQ(buffers.bytes, result_of(layout, [](size_t i) { return i == 0 ? 2052 : 260; }));
}

TEST(Missed, MemoryIsASumPerLagAndNotPerRoundOrWorker) {
    const Layout layout({{DType::f32, 1}});
    Missed missed(layout);
    const std::vector<Rank> four = {0, 1, 2, 3};
    const std::vector<Rank> six = {0, 1, 2, 3, 4, 5};
    for (uint64_t round = 0; round < 100; ++round)
        ASSERT_TRUE(missed
                        .add(round, held(result_of(layout, [](size_t) { return 1; })),
                             round < 50 ? four : six)
                        .ok());
    EXPECT_EQ(missed.sums(), 2U);
    Buffers buffers(layout);
    EXPECT_EQ(missed.take(1, buffers.pointers)->count, 100U);
    EXPECT_EQ(missed.take(5, buffers.pointers)->count, 50U);
    EXPECT_EQ(collectives::read_value(DType::f32, buffers.bytes.data(), 0), 50.0);
    for (const Rank rank : {0U, 2U, 3U}) missed.forget(rank);
    EXPECT_EQ(missed.sums(), 1U);
    missed.forget(4);
    EXPECT_EQ(missed.sums(), 0U);
}

// Replicas that only add whole numbers, so that sums are exact. Some workers are late at random.
TEST(Missed, ReplicasThatOnlyAddStayEqualBitForBitWhereSumsAreExact) {
    constexpr Rank kWorkers = 5;
    for (uint64_t seed = 1; seed <= 10; ++seed) {
        SCOPED_TRACE(seed);
        base::Random random(seed);
        Missed missed(kMixed);
        std::vector<std::vector<double>> replicas(kWorkers, std::vector<double>(14, 0.0));
        const auto apply = [&](Rank rank, const Bytes& bytes) {
            size_t number = 0;
            for (size_t s = 0; s < kMixed.segments().size(); ++s)
                for (size_t i = 0; i < kMixed.segments()[s].count; ++i)
                    replicas[rank][number++] += collectives::read_value(
                        kMixed.segments()[s].dtype, bytes.data() + kMixed.offset(s), i);
        };
        const auto catch_up = [&](Rank rank) {
            Buffers buffers(kMixed);
            if (missed.take(rank, buffers.pointers)) apply(rank, buffers.bytes);
        };
        for (uint64_t round = 0; round < 60; ++round) {
            const Bytes result =
                result_of(kMixed, [&](size_t) { return static_cast<double>(random.below(9)) - 4; });
            std::vector<Rank> late;
            for (Rank rank = 0; rank < kWorkers; ++rank) {
                if (random.below(3) == 0) catch_up(rank);
                const bool is_behind = missed.rounds(rank).has_value();
                if (is_behind || random.below(3) == 0)
                    late.push_back(rank);
                else
                    apply(rank, result);
            }
            ASSERT_TRUE(missed.add(round, held(result), late).ok());
            ASSERT_LE(missed.sums(), kWorkers);
        }
        for (Rank rank = 0; rank < kWorkers; ++rank) catch_up(rank);
        for (Rank rank = 1; rank < kWorkers; ++rank) EXPECT_EQ(replicas[rank], replicas[0]);
    }
}

}  // namespace
}  // namespace pace::partial
