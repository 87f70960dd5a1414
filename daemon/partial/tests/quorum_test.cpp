// Tests who starts a round.
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "daemon/partial/agreement/quorum.h"

namespace pace::partial {
namespace {

std::vector<Rank> ranks_below(Rank count) {
    std::vector<Rank> ranks(count);
    std::iota(ranks.begin(), ranks.end(), 0);
    return ranks;
}

TEST(Quorum, SaysHowManyArrivalsStartARound) {
    const auto needed = [](Quorum::Kind kind, uint32_t count, size_t living) {
        return arrivals_needed({kind, count, 0}, living);
    };
    for (size_t living = 1; living <= 17; ++living) {
        EXPECT_EQ(needed(Quorum::Kind::solo, 0, living), 1U);
        EXPECT_EQ(needed(Quorum::Kind::majority, 0, living), 1U);
        EXPECT_EQ(needed(Quorum::Kind::majority_strict, 0, living), living - living / 2);
        EXPECT_EQ(needed(Quorum::Kind::all, 0, living), living);
        EXPECT_EQ(needed(Quorum::Kind::count, 5, living), living < 5 ? living : 5U);
    }
}

TEST(Quorum, ThatCannotBeFilledIsRefusedWithTheNumbers) {
    EXPECT_TRUE(check({Quorum::Kind::count, 4, 0}, 4).ok());
    EXPECT_TRUE(check({Quorum::Kind::solo, 0, 0}, 1).ok());
    EXPECT_EQ(check({Quorum::Kind::count, 5, 0}, 4).error().message,
              "the quorum is 5; with 4 workers choose 1 to 4");
    EXPECT_FALSE(check({Quorum::Kind::count, 0, 0}, 4).ok());
}

TEST(Quorum, DrawsEveryWorkerEquallyOften) {
    constexpr uint64_t kRounds = 4000;
    for (const Rank world : {1U, 2U, 3U, 5U, 8U, 13U, 17U}) {
        const std::vector<Rank> living = ranks_below(world);
        std::vector<double> drawn(world, 0);
        for (uint64_t round = 0; round < kRounds; ++round) ++drawn[initiator(7, round, living)];
        // χ² with world - 1 degrees of freedom. For 16 workers, a value of 45 is less likely than
        // one in a thousand.
        const double expected = static_cast<double>(kRounds) / world;
        double chi_square = 0;
        for (const double count : drawn)
            chi_square += (count - expected) * (count - expected) / expected;
        EXPECT_LT(chi_square, 45) << world;
    }
}

TEST(Quorum, DrawsAlikeInWhateverOrderTheLivingAreListed) {
    const std::vector<Rank> living = {4, 9, 2, 77, 13};
    const std::vector<Rank> other = {77, 13, 2, 9, 4};
    for (uint64_t round = 0; round < 200; ++round)
        EXPECT_EQ(initiator(3, round, living), initiator(3, round, other));
}

TEST(Quorum, SeedsAndRoundsDrawIndependently) {
    const std::vector<Rank> living = ranks_below(16);
    size_t same = 0;
    for (uint64_t round = 1; round <= 1600; ++round)
        if (initiator(5, round, living) == initiator(6, round - 1, living)) ++same;
    EXPECT_GT(same, 50U);
    EXPECT_LT(same, 160U);  // a sixteenth of 1600 is 100
}

TEST(Quorum, TheDeathOfAnInitiatorMovesItsRoundsOnly) {
    const std::vector<Rank> living = ranks_below(9);
    const Rank dead = 4;
    std::vector<Rank> survivors = living;
    survivors.erase(survivors.begin() + dead);
    std::vector<int> heirs(9, 0);
    for (uint64_t round = 0; round < 2000; ++round) {
        const Rank before = initiator(1, round, living);
        const Rank after = initiator(1, round, survivors);
        if (before == dead)
            ++heirs[after];
        else
            EXPECT_EQ(before, after);
    }
    EXPECT_EQ(heirs[dead], 0);
    for (const Rank rank : survivors) EXPECT_GT(heirs[rank], 0) << rank;
}

TEST(Quorum, NodesCountInTurn) {
    for (size_t nodes = 1; nodes <= 17; ++nodes)
        for (uint64_t round = 0; round < 40; ++round)
            EXPECT_EQ(counting_node(round, nodes), round % nodes);
}

}  // namespace
}  // namespace pace::partial
