#include "daemon/device/block_places.h"

#include <cstdint>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace pace::device {
namespace {

constexpr size_t kBlock = size_t{2} << 20U;
constexpr size_t kSmall = size_t{64} << 10U;

TEST(BlockPlaces, AreTakenOneBehindAnotherUntilTheBlockIsFull) {
    BlockPlaces places(kBlock);
    for (size_t i = 0; i < kBlock / kSmall; ++i) EXPECT_EQ(places.take(kSmall), i * kSmall);
    EXPECT_FALSE(places.take(1));
}

TEST(BlockPlaces, AreAligned) {
    BlockPlaces places(kBlock);
    EXPECT_EQ(places.take(1), 0U);
    EXPECT_EQ(places.take(257), kPlaceAlignment);
    EXPECT_EQ(places.take(kPlaceAlignment), 3 * kPlaceAlignment);
    EXPECT_EQ(places.take(4), 4 * kPlaceAlignment);
}

TEST(BlockPlaces, AreTakenAgainWhereOneWasGivenBack) {
    BlockPlaces places(kBlock);
    for (int i = 0; i < 4; ++i) ASSERT_TRUE(places.take(kSmall));
    places.give_back(1 * kSmall);
    places.give_back(2 * kSmall);
    EXPECT_EQ(places.take(3 * kSmall), 4 * kSmall) << "the gap is too short";
    EXPECT_EQ(places.take(2 * kSmall), 1 * kSmall);
    EXPECT_EQ(places.take(kSmall), 7 * kSmall);
}

TEST(BlockPlaces, AreWithinTheBlock) {
    BlockPlaces places(kBlock);
    EXPECT_FALSE(places.take(0));
    EXPECT_FALSE(places.take(kBlock + 1));
    EXPECT_FALSE(places.take(SIZE_MAX));
    EXPECT_EQ(places.take(kBlock), 0U);
    places.give_back(0);
    EXPECT_EQ(places.take(kBlock - 1), 0U);
    EXPECT_FALSE(places.take(1)) << "the next aligned place is behind the block";
}

TEST(BlockPlaces, AreTakenWhereTheyWere) {
    BlockPlaces places(kBlock);
    EXPECT_TRUE(places.take_at(512, 512));
    EXPECT_TRUE(places.take_at(1024, 4));
    EXPECT_TRUE(places.take_at(kBlock - 4, 4));
    EXPECT_EQ(places.take(512), 0U);
    EXPECT_EQ(places.take(512), 1280U);
}

TEST(BlockPlaces, AreNotTakenTwice) {
    BlockPlaces places(kBlock);
    ASSERT_TRUE(places.take_at(512, 512));
    for (const size_t offset : {512, 511, 1023, 256})
        EXPECT_FALSE(places.take_at(offset, 512)) << offset;
    EXPECT_FALSE(places.take_at(0, kBlock));
    EXPECT_FALSE(places.take_at(600, 1));
}

TEST(BlockPlaces, OutsideTheBlockAreRefused) {
    BlockPlaces places(kBlock);
    EXPECT_FALSE(places.take_at(0, 0));
    EXPECT_FALSE(places.take_at(0, kBlock + 1));
    EXPECT_FALSE(places.take_at(kBlock, 1));
    EXPECT_FALSE(places.take_at(kBlock - 1, 2));
    EXPECT_FALSE(places.take_at(SIZE_MAX, 1));
    EXPECT_FALSE(places.take_at(SIZE_MAX - 1, 4));
    EXPECT_FALSE(places.take_at(4, SIZE_MAX - 2));
}

// Beside a list of bytes, each with its owner.
TEST(BlockPlaces, NeverMeetWhateverIsTakenAndGivenBack) {
    constexpr size_t kBytes = size_t{16} << 10U;
    struct Place {
        size_t begin = 0;
        size_t bytes = 0;
    };
    std::mt19937 random(7);
    BlockPlaces places(kBytes);
    std::vector<bool> is_taken(kBytes);
    std::vector<Place> taken;
    for (int turn = 0; turn < 5000; ++turn) {
        const size_t bytes = 1 + random() % 1500;
        if (const auto begin = random() % 3 != 0 ? places.take(bytes) : std::nullopt) {
            ASSERT_LE(*begin + bytes, kBytes);
            ASSERT_EQ(*begin % kPlaceAlignment, 0U);
            for (size_t i = *begin; i < *begin + bytes; ++i) {
                ASSERT_FALSE(is_taken[i]);
                is_taken[i] = true;
            }
            taken.push_back({*begin, bytes});
        } else if (!taken.empty()) {
            std::swap(taken[random() % taken.size()], taken.back());
            const Place gone = taken.back();
            taken.pop_back();
            for (size_t i = gone.begin; i < gone.begin + gone.bytes; ++i) is_taken[i] = false;
            places.give_back(gone.begin);
        }
    }
    for (const Place& place : taken) places.give_back(place.begin);
    EXPECT_EQ(places.take(kBytes), 0U);
}

}  // namespace
}  // namespace pace::device
