#include "transports/tls/session/key_ring.h"

#include <gtest/gtest.h>

namespace pace::transports::tls {
namespace {

InstanceId instance(uint8_t number) {
    return {std::byte{number}};
}

PairKey key(uint8_t number) {
    return {{std::byte{number}}, {std::byte{number}, std::byte{1}}};
}

TEST(KeyRing, KeepsTheLastTwoKeysOfAnInstanceTheNewestFirst) {
    KeyRing ring;
    for (const uint8_t number : {1, 2, 3}) EXPECT_TRUE(ring.add(instance(9), key(number)));
    EXPECT_EQ(ring.count(instance(9)), 2U);
    EXPECT_EQ(ring.key(instance(9), 0)->id, key(3).id);
    EXPECT_EQ(ring.key(instance(9), 1)->secret, key(2).secret);
    EXPECT_EQ(ring.key(instance(9), 2), nullptr);
    EXPECT_FALSE(ring.find(key(1).id)) << "the oldest has left";
    ASSERT_TRUE(ring.find(key(2).id));
    EXPECT_EQ(ring.find(key(2).id)->instance, instance(9));
}

TEST(KeyRing, TakesTheSameKeyAgainAndNoOtherKeyWithItsId) {
    KeyRing ring;
    EXPECT_TRUE(ring.add(instance(1), key(1)));
    EXPECT_TRUE(ring.add(instance(1), key(1)));
    EXPECT_EQ(ring.count(instance(1)), 1U);
    PairKey other = key(1);
    other.secret[5] = std::byte{7};
    EXPECT_FALSE(ring.add(instance(1), other));
    const auto taken = ring.add(instance(2), key(1));
    ASSERT_FALSE(taken);
    EXPECT_EQ(taken.error().kind, base::ErrorKind::taken);
    EXPECT_EQ(ring.count(instance(2)), 0U);
}

TEST(KeyRing, ForgetsTheKeysOfOneInstanceOnly) {
    KeyRing ring;
    for (const uint8_t number : {1, 2}) EXPECT_TRUE(ring.add(instance(1), key(number)));
    EXPECT_TRUE(ring.add(instance(2), key(3)));
    EXPECT_TRUE(ring.forget(instance(1)));
    EXPECT_FALSE(ring.forget(instance(1)));
    for (const uint8_t number : {1, 2}) EXPECT_FALSE(ring.find(key(number).id));
    EXPECT_TRUE(ring.find(key(3).id));
}

TEST(KeyRing, FindsNothingForIdsOfOtherSizes) {
    KeyRing ring;
    EXPECT_TRUE(ring.add(instance(1), key(1)));
    const std::vector<std::byte> large(1000);
    EXPECT_FALSE(ring.find({}));
    const PairKey known = key(1);
    EXPECT_FALSE(ring.find(std::span(known.id).first(15)));
    EXPECT_FALSE(ring.find(large));
}

}  // namespace
}  // namespace pace::transports::tls
