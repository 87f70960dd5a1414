#include "daemon/runtime/exchange_number.h"

#include "daemon/runtime/mix.h"

#include <set>

#include <gtest/gtest.h>

namespace pace::daemon {
namespace {

// Small consecutive numbers, as epochs, rounds, turns and ranks are: no two of their combinations
// collide.
TEST(Digest, NumbersOfSmallNumbersAreDistinct) {
    std::set<uint64_t> numbers;
    size_t count = 0;
    for (uint64_t epoch = 0; epoch < 80; ++epoch) {
        for (uint64_t turn = 0; turn < 400; ++turn) {
            for (const uint64_t rank : {0, 1, 2}) {
                numbers.insert(mix(mix(epoch, turn), rank));
                ++count;
            }
        }
    }
    EXPECT_EQ(numbers.size(), count);
}

TEST(Digest, ExchangeNumbersOfAJobAreDistinct) {
    std::set<uint64_t> numbers;
    size_t count = 0;
    for (uint8_t kind = 1; kind <= static_cast<uint8_t>(ExchangeKind::mail); ++kind) {
        for (uint64_t first = 0; first < 64; ++first) {
            for (uint64_t second = 0; second < 64; ++second) {
                // A token that a test or a journal may have.
                numbers.insert(exchange_number(1, static_cast<ExchangeKind>(kind), first, second));
                ++count;
            }
        }
    }
    EXPECT_EQ(numbers.size(), count);
}

// All daemons of a cluster must compute the same. Computed with Python's hmac module:
// hmac.new((7).to_bytes(8, "little"), b"".join(v.to_bytes(8, "little") for v in (1, 2, 3)),
// "sha256")
TEST(ExchangeNumber, IsAKeyedHashOfTheToken) {
    EXPECT_EQ(exchange_number(7, ExchangeKind::round, 2, 3), 0xCD2B2E54159F7938U);
    EXPECT_EQ(part_number(7, 1), 0x3D6F62618D35A1F3U);
    EXPECT_NE(part_number(7, 0), part_number(7, 1));
}

}  // namespace
}  // namespace pace::daemon
