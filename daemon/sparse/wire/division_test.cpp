#include "daemon/sparse/wire/division.h"

#include <set>

#include <gtest/gtest.h>

#include "daemon/sparse/wire/ring.h"

namespace pace::sparse {
namespace {

struct Step {
    size_t to;
    size_t from;
    std::vector<size_t> blocks;
    bool operator==(const Step&) const = default;
};

// Returns what a worker does at each step of Spar-Reduce-Scatter.
std::vector<Step> steps(size_t P, size_t w) {
    std::vector<Step> out;
    const Ring ring = ring_of_all(P, w);
    const size_t l = steps_of(P);
    for (size_t i = 1; i <= l; ++i) {
        const size_t distance = size_t{1} << (l - i);
        out.push_back({ring.after(distance), ring.before(distance), bag_of(P, w, l - i + 1)});
    }
    return out;
}

TEST(Division, SixWorkersSendTheBagsOfThePapersFigure3) {
    const std::vector<std::vector<Step>> table = {
        {{4, 2, {4, 5}}, {2, 4, {2, 3}}, {1, 5, {1}}},
        {{5, 3, {5, 0}}, {3, 5, {3, 4}}, {2, 0, {2}}},
        {{0, 4, {0, 1}}, {4, 0, {4, 5}}, {3, 1, {3}}},
        {{1, 5, {1, 2}}, {5, 1, {5, 0}}, {4, 2, {4}}},
        {{2, 0, {2, 3}}, {0, 2, {0, 1}}, {5, 3, {5}}},
        {{3, 1, {3, 4}}, {1, 3, {1, 2}}, {0, 4, {0}}},
    };
    for (size_t w = 0; w < 6; ++w) EXPECT_EQ(steps(6, w), table[w]) << "worker " << w;
}

TEST(Division, FiveWorkersSendOneTwoAndOneBlock) {
    for (size_t w = 0; w < 5; ++w) {
        const auto at = [w](size_t i) { return (w + i) % 5; };
        EXPECT_EQ(steps(5, w), (std::vector<Step>{{at(4), at(1), {at(4)}},
                                                  {at(2), at(3), {at(2), at(3)}},
                                                  {at(1), at(4), {at(1)}}}));
    }
}

TEST(Division, WhatComesIsHeldStillAndAtTheEndEachHoldsItsOwnBlock) {
    for (size_t P = 1; P <= 40; ++P) {
        std::vector<std::set<size_t>> held(P);
        for (auto& blocks : held)
            for (size_t block = 0; block < P; ++block) blocks.insert(block);
        for (size_t i = 0; i < steps_of(P); ++i) {
            std::vector<Step> all;
            for (size_t w = 0; w < P; ++w) all.push_back(steps(P, w)[i]);
            for (size_t w = 0; w < P; ++w)
                for (const size_t block : all[w].blocks) ASSERT_EQ(held[w].erase(block), 1U);
            // Theorem 3.1.
            for (const Step& step : all)
                for (const size_t block : step.blocks) ASSERT_TRUE(held[step.to].contains(block));
        }
        for (size_t w = 0; w < P; ++w) ASSERT_EQ(held[w], std::set<size_t>{w});
    }
}

TEST(Division, BlocksCoverTheVectorAndEachMaySendOneElement) {
    for (const size_t count : {0U, 1U, 3U, 17U, 1000U})
        for (size_t blocks = 1; blocks <= 17; ++blocks)
            for (const double density : {1e-9, 0.01, 0.5, 1.0}) {
                const Division division(count, blocks, density);
                size_t end = 0;
                for (size_t i = 0; i < blocks; ++i) {
                    const Block block = division.block(i);
                    EXPECT_EQ(block.begin, end);
                    EXPECT_LE(block.k, block.length());
                    EXPECT_EQ(block.k > 0, block.length() > 0);
                    end = block.end;
                }
                EXPECT_EQ(end, count);
            }
    EXPECT_EQ(top_count(1000, 0.01), 10U);
    EXPECT_EQ(top_count(1000, 0.0149), 15U);
    EXPECT_EQ(top_count(7, 1.0), 7U);
}

TEST(Division, RingsConnectTeamsAndPositions) {
    // Six nodes in two teams: {0, 1, 2} and {3, 4, 5}.
    EXPECT_EQ(team_of(6, 2, 4).node(0), 3U);
    EXPECT_EQ(team_of(6, 2, 4).self, 1U);
    EXPECT_EQ(position_of(6, 2, 4).node(0), 1U);
    EXPECT_EQ(position_of(6, 2, 4).self, 1U);
    EXPECT_EQ(position_of(6, 2, 4).size, 2U);
}

}  // namespace
}  // namespace pace::sparse
