#include "daemon/sparse/residual/chosen.h"

#include <cmath>
#include <cstring>
#include <limits>

#include <gtest/gtest.h>

#include "base/random.h"
#include "daemon/sparse/residual/gradient.h"
#include "daemon/sparse/residual/sparse_state.h"

namespace pace::sparse {
namespace {

using base::ErrorKind;
using protocol::DType;

const collectives::Layout kLayout(
    {{DType::f32, 5}, {DType::f64, 3}, {DType::f16, 0}, {DType::f16, 7}, {DType::bf16, 4}});
constexpr size_t kElements = 19;

std::vector<std::byte> result_of(const Entries& chosen, double scale) {
    kernels::WorkerPool pool(0);
    std::vector<std::byte> result(kLayout.bytes(), std::byte{0xEE});
    scatter_result(chosen, scale, Packed(kLayout), result, pool);
    return result;
}

Entries entries_of(std::initializer_list<std::pair<uint32_t, float>> list) {
    Entries entries;
    for (const auto& [index, value] : list) entries.push_back(index, value);
    return entries;
}

uint64_t count_of(const std::vector<std::byte>& hidden) {
    uint64_t count = 0;
    std::memcpy(&count, hidden.data(), sizeof(count));
    return count;
}

TEST(Chosen, WhatTheResultShowsNeedsNoList) {
    const Entries chosen = entries_of({{0, 1}, {4, -2}, {6, 1e-30F}, {9, 3}, {18, -0.5F}});
    const auto hidden = encode_hidden(chosen, 0.25, Packed(kLayout));
    EXPECT_EQ(hidden, std::vector<std::byte>(kHiddenHeaderBytes, std::byte{0}));
    const auto indices = chosen_indices(Packed(kLayout), result_of(chosen, 0.25), hidden);
    ASSERT_TRUE(indices.ok()) << indices.error().message;
    EXPECT_EQ(*indices, chosen.indices);
}

TEST(Chosen, SumsThatAreZeroAndValuesThatTheTypeOrTheScaleMakeZeroAreTold) {
    constexpr float kLeast = std::numeric_limits<float>::denorm_min();
    const Entries chosen = entries_of({{1, 0.0F},
                                       {2, -0.0F},
                                       {3, kLeast},    // halved to zero
                                       {5, kLeast},    // but not to zero in f64
                                       {8, 0x1p-24F},  // less than half of f16's least number
                                       {9, 0x1p-23F},  // f16's least number
                                       {15, 1e-42F},
                                       {17, std::nanf("")}});
    const auto hidden = encode_hidden(chosen, 0.5, Packed(kLayout));
    EXPECT_EQ(count_of(hidden), 5U);
    const auto indices = chosen_indices(Packed(kLayout), result_of(chosen, 0.5), hidden);
    ASSERT_TRUE(indices.ok()) << indices.error().message;
    EXPECT_EQ(*indices, chosen.indices);
}

TEST(Chosen, AnyChoiceWithAnyValuesAndScaleIsFoundAgain) {
    base::Random random(3);
    for (int i = 0; i < 5000; ++i) {
        Entries chosen;
        for (uint32_t index = 0; index < kElements; ++index) {
            if (random.below(2) == 0) continue;
            const auto mantissa = static_cast<float>(random.below(17)) - 8.0F;
            chosen.push_back(index, std::ldexp(mantissa, -static_cast<int>(random.below(150))));
        }
        const double scale = std::ldexp(1.0, 3 - static_cast<int>(random.below(40)));
        const auto hidden = encode_hidden(chosen, scale, Packed(kLayout));
        ASSERT_EQ(hidden_bytes(kElements, hidden).value(), hidden.size());
        const auto indices = chosen_indices(Packed(kLayout), result_of(chosen, scale), hidden);
        ASSERT_TRUE(indices.ok()) << indices.error().message;
        ASSERT_EQ(*indices, chosen.indices);
    }
}

// Checks what is said of a list beforehand against the list itself.
TEST(Chosen, NoListIsLongerThanTheLongest) {
    for (const size_t count : {1U, 2U, 7U, 64U, 1000U, 65537U}) {
        for (size_t hidden = 0; hidden <= count; hidden += 1 + hidden / 7) {
            std::array<std::byte, kHiddenHeaderBytes> header;
            const uint64_t said = hidden;
            std::memcpy(header.data(), &said, sizeof(said));
            ASSERT_LE(hidden_bytes(count, header).value(), hidden_bytes_max(count)) << hidden;
        }
        EXPECT_LE(hidden_bytes_max(count), kHiddenHeaderBytes + count / 4 + 2);
    }
}

TEST(Chosen, ListsThatNobodyWroteAreRefused) {
    const Entries chosen = entries_of({{0, 1}, {1, 0}, {7, 0}});
    const auto good = encode_hidden(chosen, 1, Packed(kLayout));
    const auto result = result_of(chosen, 1);
    const auto refused = [&](std::span<const std::byte> hidden) {
        const auto indices = chosen_indices(Packed(kLayout), result, hidden);
        return !indices && indices.error().kind == ErrorKind::corrupt;
    };
    EXPECT_FALSE(refused(good));
    for (size_t size = 0; size < good.size(); ++size)
        EXPECT_TRUE(refused(std::span(good).first(size)));
    auto longer = good;
    longer.push_back(std::byte{0});
    EXPECT_TRUE(refused(longer));
    auto many = good;
    many[7] = std::byte{0xFF};
    EXPECT_TRUE(refused(many));
    EXPECT_EQ(hidden_bytes(kElements, many).error().kind, ErrorKind::corrupt);
    EXPECT_EQ(hidden_bytes(kElements, std::span(good).first(7)).error().kind, ErrorKind::corrupt);
    // The list of another result: here the element 0 shows itself.
    EXPECT_TRUE(refused(encode_hidden(entries_of({{0, 0}, {1, 0}}), 1, Packed(kLayout))));
    // Whatever the bits are, a list that is accepted is a list that encode_hidden() writes.
    for (size_t bit = 0; bit < 8 * good.size(); ++bit) {
        auto other = good;
        other[bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
        const auto indices = chosen_indices(Packed(kLayout), result, other);
        if (!indices) continue;
        Entries said;
        for (const uint32_t index : *indices) said.push_back(index, index == 0 ? 1.0F : 0.0F);
        EXPECT_EQ(encode_hidden(said, 1, Packed(kLayout)), other);
    }
}

// A state of kElements elements. Two of them were cut.
SparseState open_state(bool settled) {
    SparseState state(kElements);
    std::span<float> next = state.begin(UndoLog(Division(kElements, 1, 1), ResidualMode::global));
    std::fill(next.begin(), next.end(), 1.0F);
    state.log().note_cut(0, entries_of({{1, 1}, {7, 1}}));
    next[1] = next[7] = 0;
    if (settled) state.log().settle();
    return state;
}

TEST(Conclude, GivesBackWhatIsNotInTheResult) {
    const Entries chosen = entries_of({{0, 3}, {7, 0}});
    const auto hidden = encode_hidden(chosen, 1, Packed(kLayout));
    SparseState state = open_state(true);
    ASSERT_TRUE(state.conclude(kLayout, result_of(chosen, 1), hidden).ok());
    // There is nothing to do for a second call, or for an exchange that ended well.
    ASSERT_TRUE(state.conclude(kLayout, result_of({}, 1), hidden).ok());
    state.commit();
    for (size_t i = 0; i < kElements; ++i)
        EXPECT_EQ(state.residual().values()[i], i == 7 ? 0.0F : 1.0F) << i;
}

TEST(Conclude, RefusesWhatCannotBe) {
    const Entries chosen = entries_of({{0, 3}, {7, 0}});
    const auto hidden = encode_hidden(chosen, 1, Packed(kLayout));
    const auto result = result_of(chosen, 1);
    const auto kind_of = [](const base::Result<>& outcome) {
        EXPECT_FALSE(outcome.ok());
        return outcome ? ErrorKind::internal : outcome.error().kind;
    };
    SparseState idle(kElements);
    EXPECT_EQ(kind_of(idle.conclude(kLayout, result, hidden)), ErrorKind::invalid);
    SparseState early = open_state(false);
    EXPECT_EQ(kind_of(early.conclude(kLayout, result, hidden)), ErrorKind::invalid);
    SparseState state = open_state(true);
    EXPECT_EQ(kind_of(state.conclude(kLayout, std::span(result).subspan(1), hidden)),
              ErrorKind::invalid);
    EXPECT_EQ(kind_of(state.conclude(collectives::Layout({{DType::f32, 3}}), result, hidden)),
              ErrorKind::invalid);
    EXPECT_EQ(kind_of(state.conclude(kLayout, result, {})), ErrorKind::corrupt);
    // None of these calls has changed the state.
    EXPECT_TRUE(state.conclude(kLayout, result, hidden).ok());
    state.discard();
    EXPECT_EQ(kind_of(state.conclude(kLayout, result, hidden)), ErrorKind::invalid);
    state.commit();
    for (const float value : state.residual().values()) EXPECT_EQ(value, 0.0F);
}

}  // namespace
}  // namespace pace::sparse
