// Delivery: a sent message arrives whole and once, at the receive that it is meant for.
#pragma once

#include <functional>
#include <vector>

#include "transports/conformance/fixture.h"

namespace pace::transports::conformance {

template <typename Fabric>
class Delivery : public Conformance<Fabric> {
  protected:
    // Sizes around every threshold that a transport may have: empty, inline, one segment, eager,
    // rendezvous.
    static std::vector<size_t> sizes() {
        std::vector<size_t> sizes = {0, 1, 2, 3, 7, 63, 100, 1000, 100'003, 1'000'000, 5'000'011};
        for (size_t power = 64; power <= 4U * 1024 * 1024; power *= 4) {
            for (const size_t size : {power - 1, power, power + 1}) sizes.push_back(size);
        }
        return sizes;
    }
};

TYPED_TEST_SUITE_P(Delivery);

TYPED_TEST_P(Delivery, BringsAMessageToItsReceive) {
    this->add_connected(2);
    const auto sent = pattern(this->kSmall, 1);
    std::vector<std::byte> received(sent.size());
    const Operation& receive = this->receive(1, 0, {7, 3, 9}, received);
    const Operation& send = this->send(0, 1, {7, 3, 9}, sent);
    ASSERT_TRUE(this->await_all_ended());
    EXPECT_TRUE(send.ok());
    EXPECT_TRUE(receive.ok());
    EXPECT_EQ(received, sent);
    EXPECT_TRUE(this->lost_.empty());
}

TYPED_TEST_P(Delivery, BringsEverySizeWhetherPostedBeforeOrAfterItArrives) {
    this->add_connected(2);
    uint32_t slot = 0;
    for (const bool posted_first : {true, false}) {
        for (const size_t size : this->sizes()) {
            const Tag tag{1, ++slot, 0};
            // The memory is one byte off alignment on both sides.
            const auto sent = pattern(size + 1, slot);
            std::vector<std::byte> received(size + 3, std::byte{0x5A});
            const auto into = std::span(received).subspan(2, size);
            const auto from = std::span(sent).subspan(1);
            Operation* receive = posted_first ? &this->receive(1, 0, tag, into) : nullptr;
            const Operation& send = this->send(0, 1, tag, from);
            if (!posted_first) {
                ASSERT_TRUE(this->cross(0, 1));
                receive = &this->receive(1, 0, tag, into);
            }
            ASSERT_TRUE(this->await_all_ended()) << size;
            ASSERT_TRUE(send.ok() && receive->ok()) << size;
            ASSERT_TRUE(std::equal(into.begin(), into.end(), from.begin(), from.end())) << size;
            ASSERT_EQ(received[1], std::byte{0x5A});
            ASSERT_EQ(received.back(), std::byte{0x5A});
        }
    }
}

TYPED_TEST_P(Delivery, MatchesBySlotAndNotByOrder) {
    this->add_connected(2);
    constexpr uint32_t kCount = 40;
    std::vector<std::vector<std::byte>> sent;
    std::vector<std::vector<std::byte>> received(kCount);
    for (uint32_t slot = 0; slot < kCount; ++slot)
        sent.push_back(pattern(slot % 4 == 0 ? 200'000 + slot : slot, slot));
    for (uint32_t slot = 0; slot < kCount; ++slot) this->send(0, 1, {5, slot, 0}, sent[slot]);
    for (uint32_t slot = kCount; slot-- > 0;) {
        received[slot].resize(sent[slot].size());
        this->receive(1, 0, {5, slot, 0}, received[slot]);
        this->progress();
    }
    ASSERT_TRUE(this->await_all_ended());
    for (uint32_t slot = 0; slot < kCount; ++slot) EXPECT_EQ(received[slot], sent[slot]) << slot;
}

TYPED_TEST_P(Delivery, KeepsExchangesAndPeersWithEqualSlotsApart) {
    this->add_connected(3);
    std::vector<std::vector<std::byte>> received(4, std::vector<std::byte>(this->kSmall));
    std::vector<std::vector<std::byte>> sent;
    for (uint64_t i = 0; i < 4; ++i) sent.push_back(pattern(this->kSmall, i));
    this->receive(2, 0, {1, 0, 0}, received[0]);
    this->receive(2, 0, {2, 0, 0}, received[1]);
    this->receive(2, 1, {1, 0, 0}, received[2]);
    this->receive(2, 1, {2, 0, 0}, received[3]);
    this->send(1, 2, {2, 0, 0}, sent[3]);
    this->send(1, 2, {1, 0, 0}, sent[2]);
    this->send(0, 2, {2, 0, 0}, sent[1]);
    this->send(0, 2, {1, 0, 0}, sent[0]);
    ASSERT_TRUE(this->await_all_ended());
    for (size_t i = 0; i < 4; ++i) EXPECT_EQ(received[i], sent[i]) << i;
}

TYPED_TEST_P(Delivery, GoesFromEveryNodeToEveryOther) {
    const std::vector<size_t> sizes = {0, 17, 9'000, 300'007};
    for (size_t count = 1; count <= 9; ++count) {
        const size_t first = this->nodes_.size();
        for (size_t i = 0; i < count; ++i) this->add();
        std::deque<std::vector<std::byte>> sent;
        std::deque<std::vector<std::byte>> received;
        for (size_t i = 0; i < count; ++i) {
            for (size_t j = 0; j < count; ++j) {
                if (i == j) continue;
                this->connect(first + i, first + j);
            }
        }
        for (size_t i = 0; i < count; ++i) {
            for (size_t j = 0; j < count; ++j) {
                if (i == j) continue;
                for (uint32_t s = 0; s < sizes.size(); ++s) {
                    sent.push_back(pattern(sizes[s], 100 * i + 10 * j + s));
                    received.emplace_back(sizes[s]);
                    this->send(first + i, first + j, {count, s, 1}, sent.back());
                    this->receive(first + j, first + i, {count, s, 1}, received.back());
                }
            }
        }
        ASSERT_TRUE(this->await_all_ended()) << count;
        EXPECT_EQ(received, sent) << count;
        EXPECT_TRUE(this->lost_.empty());
        // Each count uses new instances. The old ones leave.
        for (size_t i = 0; i < count; ++i) this->nodes_[first + i] = nullptr;
    }
}

TYPED_TEST_P(Delivery, KeepsHundredsOfMessagesUnderWayInBothDirections) {
    this->add_connected(2);
    constexpr uint32_t kCount = 300;
    std::deque<std::vector<std::byte>> sent;
    std::deque<std::vector<std::byte>> received;
    for (uint32_t slot = 0; slot < kCount; ++slot) {
        for (const size_t from : {0U, 1U}) {
            sent.push_back(pattern((slot * 7919U) % 70'000U, 2 * slot + from));
            received.emplace_back(sent.back().size());
            this->send(from, 1 - from, {1, slot, 0}, sent.back());
            this->receive(1 - from, from, {1, slot, 0}, received.back());
        }
    }
    ASSERT_TRUE(this->await_all_ended());
    EXPECT_EQ(received, sent);
}

TYPED_TEST_P(Delivery, LetsACompletionStartTheNextOperation) {
    this->add_connected(2);
    constexpr uint32_t kRounds = 200;
    std::vector<std::byte> ball = pattern(5'000, 1);
    const auto original = ball;
    uint32_t returned = 0;
    // Node 1 sends the ball back when it gets the ball. Node 0 serves again when it has the ball
    // back.
    std::function<void(uint32_t)> serve = [&](uint32_t round) {
        this->node(1).receive(this->peer(1, 0), {1, round, 0}, ball,
                              [&, round](base::Result<> got) {
                                  ASSERT_TRUE(got);
                                  this->node(1).send(this->peer(1, 0), {2, round, 0}, ball, {});
                              });
        this->node(0).receive(this->peer(0, 1), {2, round, 0}, ball,
                              [&, round](base::Result<> got) {
                                  ASSERT_TRUE(got);
                                  if (++returned < kRounds) serve(round + 1);
                              });
        this->node(0).send(this->peer(0, 1), {1, round, 0}, ball, {});
    };
    serve(0);
    ASSERT_TRUE(this->await([&] { return returned == kRounds; }));
    EXPECT_EQ(ball, original);
}

TYPED_TEST_P(Delivery, CountsMessagesAndBytesWithoutHeaders) {
    this->add_connected(2);
    const auto small = pattern(this->kSmall, 1);
    const auto large = pattern(this->kLarge, 2);
    std::vector<std::byte> received_small(small.size());
    std::vector<std::byte> received_large(large.size());
    this->receive(1, 0, {1, 0, 0}, received_small);
    this->receive(1, 0, {1, 1, 0}, received_large);
    this->send(0, 1, {1, 0, 0}, small);
    this->send(0, 1, {1, 1, 0}, large);
    ASSERT_TRUE(this->await_all_ended());
    const auto sender = this->node(0).counters();
    const auto receiver = this->node(1).counters();
    EXPECT_EQ(sender.messages_sent, 2U);
    EXPECT_EQ(sender.bytes_sent, this->kSmall + this->kLarge);
    EXPECT_EQ(sender.messages_received, 0U);
    EXPECT_EQ(receiver.messages_received, 2U);
    EXPECT_EQ(receiver.bytes_received, this->kSmall + this->kLarge);
    EXPECT_EQ(receiver.bytes_sent, 0U);
}

TYPED_TEST_P(Delivery, KeepsWhatAnInstanceSendsBeforeItIsConnected) {
    this->add();
    this->add();
    this->connect(0, 1);
    const auto small = pattern(this->kSmall, 1);
    const auto large = pattern(this->kLarge, 2);
    this->send(0, 1, {1, 0, 0}, small);
    this->send(0, 1, {1, 1, 0}, large);
    // Node 1 has no way to say that it has got the messages. A few turns make it likely, and either
    // order is correct.
    for (int turn = 0; turn < 200; ++turn) this->progress();
    this->connect(1, 0);
    std::vector<std::byte> received_small(small.size());
    std::vector<std::byte> received_large(large.size());
    const Operation& first = this->receive(1, 0, {1, 0, 0}, received_small);
    const Operation& second = this->receive(1, 0, {1, 1, 0}, received_large);
    ASSERT_TRUE(this->await_all_ended());
    EXPECT_TRUE(first.ok());
    EXPECT_TRUE(second.ok());
    EXPECT_EQ(received_small, small);
    EXPECT_EQ(received_large, large);
}

TYPED_TEST_P(Delivery, APeerThatIsPingedIsHeardAlsoIfNobodySendsAMessage) {
    this->add_connected(2);
    const base::TimePoint before = base::now();
    this->node(0).ping(this->peer(0, 1));
    ASSERT_TRUE(this->await([&] { return this->node(0).heard(this->peer(0, 1)) >= before; }));
    const base::TimePoint first = this->node(0).heard(this->peer(0, 1));
    this->node(0).ping(this->peer(0, 1));
    ASSERT_TRUE(this->await([&] { return this->node(0).heard(this->peer(0, 1)) > first; }));
    this->disconnect(0, 1);
    this->node(0).ping(this->peer(0, 1));
    this->node(0).ping(99);
    EXPECT_TRUE(this->await_all_ended());
}

REGISTER_TYPED_TEST_SUITE_P(
    Delivery, BringsAMessageToItsReceive, BringsEverySizeWhetherPostedBeforeOrAfterItArrives,
    MatchesBySlotAndNotByOrder, KeepsExchangesAndPeersWithEqualSlotsApart,
    GoesFromEveryNodeToEveryOther, KeepsHundredsOfMessagesUnderWayInBothDirections,
    LetsACompletionStartTheNextOperation, CountsMessagesAndBytesWithoutHeaders,
    KeepsWhatAnInstanceSendsBeforeItIsConnected, APeerThatIsPingedIsHeardAlsoIfNobodySendsAMessage);

}  // namespace pace::transports::conformance
