#include "transports/peer_slots.h"

#include <string>

#include <gtest/gtest.h>

namespace pace::transports {
namespace {

TEST(PeerSlots, NumberThePeersOfABeginningOneByOne) {
    PeerSlots<std::string> peers;
    std::string a = "a";
    std::string b = "b";
    EXPECT_EQ(peers.add(a), 0U);
    EXPECT_EQ(peers.add(b), 1U);
    EXPECT_EQ(peers.find(1), &b);
    EXPECT_EQ(peers.find(2), nullptr);
    EXPECT_TRUE(peers.was_given(1));
    EXPECT_FALSE(peers.was_given(2));
    EXPECT_EQ(peers.present(), (std::vector<PeerId>{0, 1}));
}

TEST(PeerSlots, TakeTheRoomOfThoseThatLeftAndGiveNoIdTwice) {
    PeerSlots<std::string> peers;
    std::string stays = "stays";
    std::string comes = "comes";
    const PeerId first = peers.add(stays);
    PeerId before = peers.add(comes);
    for (int turn = 0; turn < 1000; ++turn) {
        peers.remove(before);
        EXPECT_EQ(peers.find(before), nullptr);
        const PeerId peer = peers.add(comes);
        EXPECT_GT(peer, before);
        EXPECT_EQ(peers.find(before), nullptr) << "the id of one that left leads to nobody";
        EXPECT_TRUE(peers.was_given(before));
        EXPECT_FALSE(peers.was_given(peer + PeerSlots<std::string>::kSlotsMax));
        EXPECT_EQ(peers.find(peer), &comes);
        EXPECT_EQ(peers.present(), (std::vector<PeerId>{first, peer}));
        before = peer;
    }
    EXPECT_EQ(peers.slots(), 2U);
    EXPECT_EQ(peers.find(first), &stays);
}

TEST(PeerSlots, LeaveASlotAloneWhoseIdsHaveAllBeenGiven) {
    using Slots = PeerSlots<std::string>;
    Slots peers;
    std::string value;
    PeerId last = 0;
    for (uint32_t use = 0; use < Slots::kUsesMax; ++use) {
        last = peers.add(value);
        ASSERT_EQ(last, use * Slots::kSlotsMax);
        peers.remove(last);
    }
    EXPECT_EQ(peers.slots(), 1U);
    EXPECT_EQ(peers.add(value), 1U);
    EXPECT_EQ(peers.slots(), 2U);
    EXPECT_EQ(peers.find(0), nullptr);
    EXPECT_EQ(peers.find(last), nullptr);
    EXPECT_TRUE(peers.was_given(last));
}

TEST(PeerSlots, AreFullUntilOneLeaves) {
    using Slots = PeerSlots<std::string>;
    Slots peers;
    std::string value;
    for (uint32_t i = 0; i < Slots::kSlotsMax; ++i) {
        ASSERT_FALSE(peers.full());
        peers.add(value);
    }
    EXPECT_TRUE(peers.full());
    peers.remove(7);
    EXPECT_FALSE(peers.full());
    EXPECT_EQ(peers.add(value), 7 + Slots::kSlotsMax);
    EXPECT_TRUE(peers.full());
}

}  // namespace
}  // namespace pace::transports
