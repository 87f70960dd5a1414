#include "daemon/sparse/residual/residual.h"

#include <gtest/gtest.h>

#include "daemon/sparse/residual/sparse_state.h"

namespace pace::sparse {
namespace {

using base::ErrorKind;

Residual residual_of(const std::vector<float>& values) {
    Residual residual(values.size());
    std::copy(values.begin(), values.end(), residual.begin().begin());
    residual.commit();
    return residual;
}

std::vector<float> values_of(const Residual& residual) {
    return {residual.values().begin(), residual.values().end()};
}

TEST(Residual, IsUnchangedUntilTheExchangeCounts) {
    Residual residual = residual_of({1, 2, 3});
    residual.begin()[0] = 9;
    EXPECT_EQ(values_of(residual), (std::vector<float>{1, 2, 3}));
    residual.discard();
    residual.commit();  // nothing has begun
    EXPECT_EQ(values_of(residual), (std::vector<float>{1, 2, 3}));
    const auto next = residual.begin();
    std::fill(next.begin(), next.end(), 5.0F);
    residual.commit();
    EXPECT_EQ(values_of(residual), (std::vector<float>{5, 5, 5}));
}

TEST(Residual, CountsTheExchangesSinceItWasEmpty) {
    Residual residual(2);
    EXPECT_EQ(residual.exchanges_kept(), 0U);
    for (const uint64_t kept : {1U, 2U}) {
        (void)residual.begin();
        residual.commit();
        EXPECT_EQ(residual.exchanges_kept(), kept);
    }
    (void)residual.begin();
    residual.discard();
    EXPECT_EQ(residual.exchanges_kept(), 2U) << "that exchange never was";
    (void)residual.begin();
    residual.commit(true);
    EXPECT_EQ(residual.exchanges_kept(), 0U);
    ASSERT_TRUE(residual.absorb(residual_of({1, 2}).values()));
    EXPECT_EQ(residual.exchanges_kept(), 1U);
    EXPECT_EQ(Residual::load(residual.save())->exchanges_kept(), 1U);
    (void)residual.give_up();
    EXPECT_EQ(residual.exchanges_kept(), 0U);
}

TEST(Residual, IsSavedAndLoaded) {
    for (const size_t count : {0U, 1U, 1000U}) {
        std::vector<float> values(count);
        for (size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i) - 7.5F;
        const auto loaded = Residual::load(residual_of(values).save());
        ASSERT_TRUE(loaded.ok());
        EXPECT_EQ(values_of(*loaded), values);
    }
}

TEST(Residual, EveryChangedBitAndEveryCutIsNoticed) {
    const std::vector<std::byte> saved = residual_of({1, -2, 0.5F}).save();
    for (size_t i = 0; i < saved.size() * 8; ++i) {
        std::vector<std::byte> changed = saved;
        changed[i / 8] ^= static_cast<std::byte>(1U << (i % 8));
        const auto loaded = Residual::load(changed);
        ASSERT_FALSE(loaded.ok()) << "bit " << i;
        const ErrorKind kind = loaded.error().kind;
        ASSERT_EQ(kind, i / 32 == 2 ? ErrorKind::version : ErrorKind::corrupt) << "bit " << i;
    }
    for (size_t size = 0; size < saved.size(); ++size)
        ASSERT_FALSE(Residual::load(std::span(saved).first(size)).ok());
}

TEST(Residual, IsHandedOver) {
    Residual residual = residual_of({1, 2, 3});
    EXPECT_TRUE(residual.absorb(residual_of({10, 0, -3}).values()).ok());
    EXPECT_EQ(values_of(residual), (std::vector<float>{11, 2, 0}));
    EXPECT_EQ(residual.absorb(residual_of({1}).values()).error().kind, ErrorKind::invalid);
    (void)residual.begin();
    EXPECT_EQ(residual.absorb(residual_of({1, 1, 1}).values()).error().kind, ErrorKind::invalid);
}

TEST(SparseState, WhatAdaptsCountsWithTheExchange) {
    SparseState state(1);
    (void)state.begin(UndoLog());
    state.next().view = 5;
    state.discard();
    state.commit();
    (void)state.begin(UndoLog());
    EXPECT_EQ(state.next().view, 0U);
    state.next().view = 6;
    state.end();
    state.commit();
    (void)state.begin(UndoLog());
    EXPECT_EQ(state.next().view, 6U);
}

TEST(SparseState, WhatDidNotEndDoesNotCount) {
    SparseState state(2);
    const std::span<float> next = state.begin(UndoLog());
    next[0] = 1;
    state.commit();
    EXPECT_EQ(values_of(state.residual()), (std::vector<float>{0, 0}));
}

}  // namespace
}  // namespace pace::sparse
