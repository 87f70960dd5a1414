// Failures: peers leave, vanish and come back at any moment. Every operation still ends exactly
// once.
#pragma once

#include <algorithm>
#include <vector>

#include "transports/conformance/fixture.h"

namespace pace::transports::conformance {

template <typename Fabric>
class Failures : public Conformance<Fabric> {
  protected:
    // Starts operations of all kinds between all nodes. The buffers live as long as the test.
    void start_traffic(uint64_t exchange) {
        for (size_t i = 0; i < this->nodes_.size(); ++i) {
            for (size_t j = 0; j < this->nodes_.size(); ++j) {
                if (i == j) continue;
                uint32_t slot = 0;
                for (const size_t size : {this->kSmall, size_t{40'000}, this->kLarge / 4}) {
                    buffers_.push_back(pattern(size, size));
                    this->send(i, j, {exchange, slot, 0}, buffers_.back());
                    buffers_.emplace_back(size);
                    this->receive(j, i, {exchange, slot, 0}, buffers_.back());
                    ++slot;
                }
                buffers_.emplace_back(this->kSmall);
                this->receive(j, i, {exchange, 99, 0}, buffers_.back());  // never sent
            }
        }
    }

    std::deque<std::vector<std::byte>> buffers_;
};

TYPED_TEST_SUITE_P(Failures);

TYPED_TEST_P(Failures, DisconnectEndsWhatIsUnderWayAndTellsNoHandler) {
    this->add_connected(3);
    std::vector<std::byte> received(this->kLarge);
    const auto large = pattern(this->kLarge, 1);
    const Operation& receive = this->receive(0, 1, {1, 0, 0}, received);
    const Operation& send = this->send(0, 1, {1, 1, 0}, large);  // nobody receives it
    const Operation& other = this->receive(0, 2, {1, 0, 0}, received);
    this->disconnect(0, 1);
    ASSERT_TRUE(this->await([&] { return receive.ended() && send.ended(); }));
    EXPECT_TRUE(receive.failed_with(base::ErrorKind::unavailable));
    EXPECT_TRUE(send.failed_with(base::ErrorKind::unavailable));
    EXPECT_FALSE(other.ended());
    const Operation& later = this->send(0, 1, {1, 2, 0}, large);
    ASSERT_TRUE(this->await([&] { return later.ended(); }));
    EXPECT_TRUE(later.failed_with(base::ErrorKind::unavailable));
    for (const auto& lost : this->lost_) EXPECT_NE(lost.node, 0U);
    EXPECT_TRUE(this->cross(0, 2));
}

TYPED_TEST_P(Failures, DisconnectAtAnyMomentEndsEverything) {
    for (int turns = 0; turns < 40; ++turns) {
        this->nodes_.clear();
        this->peers_.clear();
        this->add_connected(2);
        this->start_traffic(1);
        for (int turn = 0; turn < turns; ++turn) this->progress();
        this->disconnect(0, 1);
        // The other side has its own reason to leave, so it need not notice.
        this->disconnect(1, 0);
        ASSERT_TRUE(this->await_all_ended()) << turns;
    }
}

TYPED_TEST_P(Failures, APeerThatWasDisconnectedCanBeConnectedAgain) {
    this->add_connected(2);
    ASSERT_TRUE(this->cross(0, 1));
    const auto stale = pattern(this->kSmall, 9);
    for (uint64_t round = 1; round <= 5; ++round) {
        // The disconnect drops this message, whether the message has arrived or not.
        this->send(0, 1, {round, 0, 0}, stale);
        const PeerId before = this->peer(1, 0);
        this->disconnect(1, 0);
        this->disconnect(0, 1);
        ASSERT_TRUE(this->await_all_ended());
        this->connect(0, 1);
        EXPECT_NE(this->connect(1, 0), before) << "ids are never reused";
        const auto sent = pattern(this->kLarge, round);
        std::vector<std::byte> received(sent.size());
        const Operation& receive = this->receive(1, 0, {round, 1, 0}, received);
        this->send(0, 1, {round, 1, 0}, sent);
        ASSERT_TRUE(this->await_all_ended());
        EXPECT_TRUE(receive.ok());
        EXPECT_EQ(received, sent);
        ASSERT_TRUE(this->cross(0, 1));
    }
    EXPECT_TRUE(this->lost_.empty());
}

TYPED_TEST_P(Failures, AVanishedPeerEndsItsOperationsAndThenTheHandlerIsCalledOnce) {
    this->add_connected(3);
    ASSERT_TRUE(this->cross(0, 2) && this->cross(1, 2) && this->cross(0, 1));
    std::vector<std::byte> received(this->kSmall);
    const auto large = pattern(this->kLarge, 1);
    const Operation& receive = this->receive(0, 2, {1, 0, 0}, received);
    const Operation& send = this->send(0, 2, {1, 1, 0}, large);
    this->progress();
    this->vanish(2);
    ASSERT_TRUE(this->await([&] { return this->lost_.size() == 2; }));
    EXPECT_TRUE(receive.failed_with(base::ErrorKind::unavailable));
    EXPECT_TRUE(send.ended()) << "in whatever way: its memory is free";
    for (const auto& lost : this->lost_) {
        EXPECT_EQ(lost.peer, this->peer(lost.node, 2));
        EXPECT_EQ(lost.kind, base::ErrorKind::unavailable);
        EXPECT_EQ(lost.unended, 0U) << "operations end before the handler is called";
    }
    const Operation& later = this->receive(1, 2, {1, 0, 0}, received);
    ASSERT_TRUE(this->await_all_ended());
    EXPECT_TRUE(later.failed_with(base::ErrorKind::unavailable));
    EXPECT_TRUE(this->cross(0, 1)) << "the others go on";
    EXPECT_EQ(this->lost_.size(), 2U);
}

TYPED_TEST_P(Failures, APeerThatVanishesAtAnyMomentLeavesTheOthersWhole) {
    for (int turns = 0; turns < 60; turns += 3) {
        this->nodes_.clear();
        this->peers_.clear();
        this->gone_.clear();
        this->add_connected(3);
        this->start_traffic(1);
        for (int turn = 0; turn < turns; ++turn) this->progress();
        this->vanish(1);
        ASSERT_TRUE(this->await([&] {
            return this->unended(0, this->peer(0, 1)) == 0 &&
                   this->unended(2, this->peer(2, 1)) == 0;
        })) << turns;
        ASSERT_TRUE(this->cross(0, 2)) << turns;
        this->close_exchange(0, 1);
        this->close_exchange(2, 1);
        ASSERT_TRUE(this->await_all_ended()) << turns;
    }
}

TYPED_TEST_P(Failures, APeerThatIsGoneBeforeTheFirstMessageIsLost) {
    this->add_connected(2);
    this->vanish(1);
    std::vector<std::byte> bytes(this->kLarge);
    this->send(0, 1, {1, 0, 0}, bytes);
    const Operation& receive = this->receive(0, 1, {1, 1, 0}, bytes);
    ASSERT_TRUE(this->await_all_ended());
    EXPECT_TRUE(receive.failed_with(base::ErrorKind::unavailable));
    ASSERT_TRUE(this->await([&] { return this->lost_.size() == 1; }));
}

TYPED_TEST_P(Failures, AReceiveAloneNoticesThatItsPeerVanishes) {
    this->add_connected(2);
    std::vector<std::byte> bytes(this->kSmall);
    const Operation& receive = this->receive(0, 1, {1, 1, 0}, bytes);
    for (int turn = 0; turn < 100; ++turn) this->progress();
    this->vanish(1);
    ASSERT_TRUE(this->await_all_ended());
    EXPECT_TRUE(receive.failed_with(base::ErrorKind::unavailable));
}

TYPED_TEST_P(Failures, ARestartedInstanceIsAnotherPeer) {
    this->add_connected(2);
    ASSERT_TRUE(this->cross(0, 1));
    this->vanish(1);
    const size_t restarted = this->add();
    EXPECT_NE(this->connect(0, restarted), this->peer(0, 1));
    this->connect(restarted, 0);
    EXPECT_TRUE(this->cross(0, restarted));
    ASSERT_TRUE(this->await([&] { return this->lost_.size() == 1; }));
    EXPECT_EQ(this->lost_[0].peer, this->peer(0, 1));
    EXPECT_TRUE(this->cross(0, restarted));
}

TYPED_TEST_P(Failures, ACompletionMayDisconnectItsPeer) {
    this->add_connected(2);
    std::vector<std::byte> first(this->kSmall);
    std::vector<std::byte> second(this->kSmall);
    bool disconnected = false;
    this->node(1).receive(this->peer(1, 0), {1, 0, 0}, first, [&](base::Result<>) {
        disconnected = true;
        this->node(1).disconnect(this->peer(1, 0));
        this->node(1).close_exchange(1);
    });
    const Operation& open = this->receive(1, 0, {1, 1, 0}, second);
    const auto sent = pattern(this->kSmall, 1);
    this->send(0, 1, {1, 0, 0}, sent);
    ASSERT_TRUE(this->await([&] { return open.ended(); }));
    EXPECT_TRUE(disconnected);
    EXPECT_TRUE(open.failed_with(base::ErrorKind::unavailable));
}

TYPED_TEST_P(Failures, DestroyingATransportEndsWhatIsUnderWay) {
    for (int turns = 0; turns < 30; ++turns) {
        this->nodes_.clear();
        this->peers_.clear();
        const size_t before = this->records_.size();
        this->add_connected(3);
        this->start_traffic(1);
        for (int turn = 0; turn < turns; ++turn) this->progress();
        this->nodes_.clear();
        for (size_t i = before; i < this->records_.size(); ++i)
            ASSERT_EQ(this->records_[i].operation.ends, 1) << turns;
    }
}

TYPED_TEST_P(Failures, APeerThatIsGivenUpAtAnyMomentIsLostOnceItsOperationsHaveEnded) {
    for (int turns = 0; turns < 30; ++turns) {
        this->nodes_.clear();
        this->peers_.clear();
        this->lost_.clear();
        this->add_connected(2);
        this->start_traffic(1);
        for (int turn = 0; turn < turns; ++turn) this->progress();
        const PeerId peer = this->peer(0, 1);
        this->in_call_ = true;
        this->node(0).give_up(peer, {base::ErrorKind::unavailable, "given up"});
        this->node(0).give_up(peer, {base::ErrorKind::unavailable, "given up"});
        this->in_call_ = false;
        ASSERT_TRUE(this->await([&] { return this->unended(0, peer) == 0; })) << turns;
        const auto is_here = [](const auto& lost) { return lost.node == 0; };
        const auto told = [&] {
            return std::count_if(this->lost_.begin(), this->lost_.end(), is_here);
        };
        ASSERT_TRUE(this->await([&] { return told() > 0; })) << turns;
        EXPECT_EQ(told(), 1) << turns;
        const auto lost = std::find_if(this->lost_.begin(), this->lost_.end(), is_here);
        EXPECT_EQ(lost->unended, 0U) << turns;
    }
}

TYPED_TEST_P(Failures, EndingATransportEndsWhatIsUnderWayAndWhateverComesLater) {
    for (int turns = 0; turns < 30; ++turns) {
        this->nodes_.clear();
        this->peers_.clear();
        const size_t before = this->records_.size();
        this->add_connected(3);
        this->start_traffic(1);
        for (int turn = 0; turn < turns; ++turn) this->progress();
        this->node(0).end();
        for (size_t i = before; i < this->records_.size(); ++i) {
            if (this->records_[i].node != 0) continue;
            ASSERT_EQ(this->records_[i].operation.ends, 1) << turns;
        }
        std::vector<std::byte> bytes(100'000);
        Operation& receiving = this->receive(0, 1, {1000, 0, 0}, bytes);
        Operation& sending = this->send(0, 2, {1000, 1, 0}, bytes);
        this->close_exchange(0, 1000);
        this->disconnect(0, 1);
        ASSERT_TRUE(this->await([&] { return receiving.ended() && sending.ended(); }));
        EXPECT_TRUE(receiving.failed_with(base::ErrorKind::canceled));
        EXPECT_TRUE(sending.failed_with(base::ErrorKind::canceled));
        const auto again = this->node(0).connect(this->node(1).address());
        ASSERT_FALSE(again);
        EXPECT_EQ(again.error().kind, base::ErrorKind::closed);
        this->node(0).end();
    }
}

REGISTER_TYPED_TEST_SUITE_P(Failures, DisconnectEndsWhatIsUnderWayAndTellsNoHandler,
                            DisconnectAtAnyMomentEndsEverything,
                            APeerThatWasDisconnectedCanBeConnectedAgain,
                            AVanishedPeerEndsItsOperationsAndThenTheHandlerIsCalledOnce,
                            APeerThatVanishesAtAnyMomentLeavesTheOthersWhole,
                            APeerThatIsGoneBeforeTheFirstMessageIsLost,
                            AReceiveAloneNoticesThatItsPeerVanishes,
                            ARestartedInstanceIsAnotherPeer, ACompletionMayDisconnectItsPeer,
                            DestroyingATransportEndsWhatIsUnderWay,
                            APeerThatIsGivenUpAtAnyMomentIsLostOnceItsOperationsHaveEnded,
                            EndingATransportEndsWhatIsUnderWayAndWhateverComesLater);

}  // namespace pace::transports::conformance
