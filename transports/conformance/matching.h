// Matching: a message that does not fit is reported, and a closed exchange is over.
#pragma once

#include <vector>

#include "transports/conformance/fixture.h"

namespace pace::transports::conformance {

template <typename Fabric>
class Matching : public Conformance<Fabric> {
  protected:
    // Sends `size` bytes with the tag `sent` to a receive with the tag `expected`. The test covers
    // both orders of arriving and posting.
    void expect_mismatch(Tag sent, size_t size, Tag expected, size_t expected_size) {
        for (const bool posted_first : {true, false}) {
            sent.slot = expected.slot = next_slot_++;
            const auto bytes = pattern(size, 1);
            std::vector<std::byte> received(expected_size);
            Operation* receive = posted_first ? &this->receive(1, 0, expected, received) : nullptr;
            this->send(0, 1, sent, bytes);
            if (!posted_first) {
                ASSERT_TRUE(this->cross(0, 1));
                receive = &this->receive(1, 0, expected, received);
            }
            ASSERT_TRUE(this->await_all_ended());
            EXPECT_TRUE(receive->failed_with(base::ErrorKind::mismatch));
            EXPECT_TRUE(this->cross(0, 1)) << "the peers go on";
        }
    }

    uint32_t next_slot_ = 0;
};

TYPED_TEST_SUITE_P(Matching);

TYPED_TEST_P(Matching, EndsAReceiveWithMismatchIfTheChecksDiffer) {
    this->add_connected(2);
    this->expect_mismatch({1, 0, 5}, this->kSmall, {1, 0, 6}, this->kSmall);
    this->expect_mismatch({1, 0, 5}, this->kLarge, {1, 0, 6}, this->kLarge);
    EXPECT_TRUE(this->lost_.empty());
}

TYPED_TEST_P(Matching, EndsAReceiveWithMismatchIfTheSizesDiffer) {
    this->add_connected(2);
    const std::vector<size_t> sizes = {
        0, 1, this->kSmall, this->kSmall + 1, this->kLarge, this->kLarge + 1};
    for (const size_t sent : sizes) {
        for (const size_t expected : sizes) {
            if (sent != expected) this->expect_mismatch({1, 0, 5}, sent, {1, 0, 5}, expected);
        }
    }
    EXPECT_TRUE(this->lost_.empty());
}

TYPED_TEST_P(Matching, RefusesASecondReceiveForASlot) {
    this->add_connected(2);
    std::vector<std::byte> received(this->kSmall);
    std::vector<std::byte> other(this->kSmall);
    const Operation& first = this->receive(1, 0, {1, 0, 0}, received);
    const Operation& second = this->receive(1, 0, {1, 0, 0}, other);
    ASSERT_TRUE(this->await([&] { return second.ended(); }));
    EXPECT_TRUE(second.failed_with(base::ErrorKind::invalid));
    const auto sent = pattern(this->kSmall, 1);
    this->send(0, 1, {1, 0, 0}, sent);
    ASSERT_TRUE(this->await_all_ended());
    EXPECT_TRUE(first.ok());
    EXPECT_EQ(received, sent);
}

TYPED_TEST_P(Matching, EndsTheUnmatchedReceivesOfAClosedExchangeAndOnlyThose) {
    this->add_connected(3);
    std::vector<std::vector<std::byte>> received(5, std::vector<std::byte>(this->kSmall));
    const Operation& a = this->receive(2, 0, {1, 0, 0}, received[0]);
    const Operation& b = this->receive(2, 1, {1, 0, 0}, received[1]);
    const Operation& c = this->receive(2, 1, {1, 9, 0}, received[2]);
    const Operation& other = this->receive(2, 1, {2, 0, 0}, received[3]);
    this->close_exchange(2, 1);
    ASSERT_TRUE(this->await([&] { return a.ended() && b.ended() && c.ended(); }));
    for (const Operation* ended : {&a, &b, &c})
        EXPECT_TRUE(ended->failed_with(base::ErrorKind::canceled));
    EXPECT_FALSE(other.ended());
    const Operation& late = this->receive(2, 0, {1, 1, 0}, received[4]);
    const auto sent = pattern(this->kSmall, 1);
    this->send(1, 2, {2, 0, 0}, sent);
    ASSERT_TRUE(this->await_all_ended());
    EXPECT_TRUE(late.failed_with(base::ErrorKind::canceled)) << "a receive for a closed exchange";
    EXPECT_TRUE(other.ok());
    EXPECT_EQ(received[3], sent);
}

TYPED_TEST_P(Matching, DropsWhatArrivesForAClosedExchangeAndLetsItsSenderGoOn) {
    this->add_connected(2);
    const auto small = pattern(this->kSmall, 1);
    const auto large = pattern(this->kLarge, 2);
    this->send(0, 1, {1, 0, 0}, small);
    this->send(0, 1, {1, 1, 0}, large);
    ASSERT_TRUE(this->cross(0, 1));
    // The closing drops the two messages that wait.
    this->close_exchange(1, 1);
    this->send(0, 1, {1, 2, 0}, small);
    this->send(0, 1, {1, 3, 0}, large);
    ASSERT_TRUE(this->await_all_ended()) << "the sends end, dropped or not";
    EXPECT_TRUE(this->cross(0, 1));
    EXPECT_TRUE(this->lost_.empty());
}

TYPED_TEST_P(Matching, EndsTheSendsOfAClosedExchangeThatNobodyHasAskedFor) {
    this->add_connected(2);
    const auto large = pattern(this->kLarge, 2);
    const Operation& unasked = this->send(0, 1, {1, 0, 0}, large);
    const Operation& other = this->send(0, 1, {2, 0, 0}, large);
    ASSERT_TRUE(this->cross(0, 1));
    EXPECT_FALSE(unasked.ended());
    this->close_exchange(0, 1);
    ASSERT_TRUE(this->await([&] { return unasked.ended(); }));
    EXPECT_TRUE(unasked.failed_with(base::ErrorKind::canceled));
    EXPECT_FALSE(other.ended());
    // A node that asks for the message afterwards does not wait for ever. Its receive ends when the
    // node closes the exchange, at the latest.
    std::vector<std::byte> received(large.size());
    const Operation& late = this->receive(1, 0, {1, 0, 0}, received);
    const Operation& asked = this->receive(1, 0, {2, 0, 0}, received);
    ASSERT_TRUE(this->await([&] { return asked.ended() && other.ended(); }));
    EXPECT_TRUE(asked.ok() && other.ok());
    EXPECT_EQ(received, large);
    this->close_exchange(1, 1);
    ASSERT_TRUE(this->await_all_ended());
    EXPECT_TRUE(late.error.has_value());
    EXPECT_TRUE(this->lost_.empty());
}

TYPED_TEST_P(Matching, ClosesAnExchangeAtAnyMoment) {
    this->add_connected(2);
    const auto large = pattern(this->kLarge, 2);
    const auto small = pattern(this->kSmall, 3);
    std::deque<std::vector<std::byte>> received;
    for (uint64_t turns = 0; turns < 60; ++turns) {
        for (uint32_t slot = 0; slot < 3; ++slot) {
            const auto& bytes = slot == 1 ? small : large;
            received.emplace_back(bytes.size());
            this->receive(1, 0, {turns, slot, 0}, received.back());
            this->send(0, 1, {turns, slot, 0}, bytes);
        }
        for (uint64_t turn = 0; turn < turns; ++turn) this->progress();
        this->close_exchange(1, turns);
        this->close_exchange(0, turns);
        ASSERT_TRUE(this->await_all_ended()) << turns;
    }
    EXPECT_TRUE(this->cross(0, 1));
    EXPECT_TRUE(this->lost_.empty());
}

TYPED_TEST_P(Matching, ForgetsOldClosedExchangesAndNothingElse) {
    this->add_connected(2);
    std::vector<std::byte> received(this->kSmall);
    const auto sent = pattern(this->kSmall, 1);
    const Operation& kept = this->receive(1, 0, {1'000'000, 0, 0}, received);
    for (uint64_t exchange = 0; exchange < 20'000; ++exchange) this->close_exchange(1, exchange);
    this->send(0, 1, {19'999, 0, 0}, sent);
    this->send(0, 1, {1'000'000, 0, 0}, sent);
    ASSERT_TRUE(this->await_all_ended());
    EXPECT_TRUE(kept.ok());
    EXPECT_EQ(received, sent);
}

TYPED_TEST_P(Matching, RefusesAddressesThatAreNotAPeers) {
    this->add_connected(2);
    Transport& node = this->node(0);
    EXPECT_FALSE(node.connect(node.address())) << "one's own";
    EXPECT_FALSE(node.connect({}));
    Address address = this->node(1).address();
    EXPECT_FALSE(node.connect(std::span(address).first(address.size() - 1)));
    address.resize(kAddressBytesMax + 1);
    EXPECT_FALSE(node.connect(address));
    EXPECT_FALSE(node.connect(pattern(100, 1)));
    EXPECT_LE(node.address().size(), kAddressBytesMax);
    const auto again = node.connect(this->node(1).address());
    ASSERT_TRUE(again);
    EXPECT_EQ(*again, this->peer(0, 1)) << "the same address is the same peer";
}

TYPED_TEST_P(Matching, EndsOperationsWithAPeerThatDoesNotExist) {
    this->add_connected(2);
    this->peers_[0][1] += 1000;
    std::vector<std::byte> bytes(this->kSmall);
    const Operation& send = this->send(0, 1, {1, 0, 0}, bytes);
    const Operation& receive = this->receive(0, 1, {1, 0, 0}, bytes);
    this->disconnect(0, 1);
    ASSERT_TRUE(this->await_all_ended());
    EXPECT_TRUE(send.failed_with(base::ErrorKind::invalid));
    EXPECT_TRUE(receive.failed_with(base::ErrorKind::invalid));
}

REGISTER_TYPED_TEST_SUITE_P(Matching, EndsAReceiveWithMismatchIfTheChecksDiffer,
                            EndsAReceiveWithMismatchIfTheSizesDiffer, RefusesASecondReceiveForASlot,
                            EndsTheUnmatchedReceivesOfAClosedExchangeAndOnlyThose,
                            DropsWhatArrivesForAClosedExchangeAndLetsItsSenderGoOn,
                            EndsTheSendsOfAClosedExchangeThatNobodyHasAskedFor,
                            ClosesAnExchangeAtAnyMoment, ForgetsOldClosedExchangesAndNothingElse,
                            RefusesAddressesThatAreNotAPeers,
                            EndsOperationsWithAPeerThatDoesNotExist);

}  // namespace pace::transports::conformance
