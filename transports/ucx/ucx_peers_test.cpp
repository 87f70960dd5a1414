// Peers that come and go many times over, without a connection. What is kept of the peers must not
// add up.
#include "transports/ucx/ucx_peers.h"

#include <cstring>
#include <utility>

#include <gtest/gtest.h>

#include "transports/conformance/fixture.h"
#include "transports/ucx/ucx_inbox.h"
#include "transports/ucx/ucx_outbox.h"
#include "transports/ucx/ucx_transport.h"

namespace pace::transports {
namespace {

using base::ErrorKind;
using base::make_error;

constexpr uint64_t kOwnInstance = 1;

// Peers with their inbox and outbox, as the engine has them. The messages to send are never given
// to UCX.
class UcxPeersTest : public ::testing::Test {
  protected:
    UcxPeersTest() : worker_(make_worker()) {}

    static UcxOptions options() {
        UcxOptions options;
        options.unexpected_bytes_max = 100'000;
        return options;
    }

    static std::unique_ptr<UcxWorker> make_worker() {
        auto worker = UcxWorker::create(options());
        EXPECT_TRUE(worker) << (worker ? "" : worker.error().message);
        return worker ? std::move(*worker) : nullptr;
    }

    Address address_of(uint64_t instance) {
        return UcxPeers(*worker_, options(), instance).address();
    }

    PeerId connect(const Address& address) {
        const auto connected = peers_.connect(address);
        EXPECT_TRUE(connected);
        EXPECT_TRUE(connected->is_new);
        inbox_.on_connected(connected->peer);
        return connected->peer;
    }

    // Ends a peer as the engine does when a peer is disconnected.
    void end_peer(PeerId peer) {
        const base::Error error = make_error(ErrorKind::unavailable, "the test ends it");
        inbox_.end_peer(peer, error);
        outbox_.end_peer(peer, error);
        peers_.leave(peer);
        while (completions_.run()) {
        }
    }

    // Loses a peer as the engine does. The peer's link ends with it.
    void lose(PeerId peer) {
        UcxPeers::Link& link = peers_.link(peer);
        end_peer(peer);
        peers_.close(link);
    }

    void arrive(uint64_t instance, uint32_t slot, size_t bytes) {
        wire::Header header;
        header.kind = wire::Kind::eager;
        header.instance = instance;
        header.exchange = 5;
        header.slot = slot;
        header.size = bytes;
        const std::vector<std::byte> payload = conformance::pattern(bytes, slot);
        inbox_.on_message(std::as_bytes(std::span(&header, 1)), payload);
    }

    std::unique_ptr<UcxWorker> worker_;
    Transport::Counters counters_;
    CompletionQueue completions_;
    UcxPeers peers_{*worker_, options(), kOwnInstance};
    UcxOutbox outbox_{peers_, completions_, counters_, options(), kOwnInstance};
    const UcxOutbox::Arrival arrival_{outbox_};
    UcxInbox inbox_{peers_, outbox_, completions_, counters_, options()};
};

TEST_F(UcxPeersTest, OnesThatRestartAgainAndAgainTakeNoMoreRoomThanOne) {
    PeerId before = ~PeerId{0};
    for (uint64_t instance = 100; instance < 1100; ++instance) {
        const PeerId peer = connect(address_of(instance));
        EXPECT_NE(peer, before);
        // The message takes almost all of the room for a peer's messages. The next message finds
        // the same room.
        arrive(instance, 1, 99'000);
        EXPECT_GT(peers_.link(peer).unexpected_bytes, 99'000U);
        EXPECT_FALSE(peers_.has_failed());
        lose(peer);
        EXPECT_TRUE(peers_.exists(peer));
        EXPECT_TRUE(peers_.gone(peer));
        before = peer;
    }
    EXPECT_EQ(peers_.slots(), 1U);
    EXPECT_EQ(peers_.links(), 0U);
    EXPECT_TRUE(peers_.present().empty());
}

TEST_F(UcxPeersTest, OneThatIsDisconnectedAgainAndAgainKeepsItsLinkAndItsRoom) {
    const Address address = address_of(100);
    PeerId before = connect(address);
    for (int turn = 0; turn < 1000; ++turn) {
        end_peer(before);
        const PeerId peer = connect(address);
        EXPECT_NE(peer, before);
        EXPECT_TRUE(peers_.gone(before));
        EXPECT_EQ(peers_.link(peer).unexpected_bytes, 0U);
        arrive(100, 1, 99'000);
        EXPECT_FALSE(peers_.has_failed());
        before = peer;
    }
    EXPECT_EQ(peers_.slots(), 1U);
    EXPECT_EQ(peers_.links(), 1U);
}

// A peer that died is connected anew at its old address, where nobody answers, until the controller
// tells the new address.
TEST_F(UcxPeersTest, LinksThatWereNeverOpenedAreForgottenWhenThereAreMany) {
    const PeerId stays = connect(address_of(50));
    for (uint64_t instance = 100; instance < 1100; ++instance)
        end_peer(connect(address_of(instance)));
    EXPECT_LE(peers_.links(), UcxPeers::kUnusedMax + 2);
    EXPECT_EQ(peers_.slots(), 2U);
    EXPECT_FALSE(peers_.gone(stays));
    EXPECT_TRUE(peers_.departed(100)) << "what comes from it later is dropped";
    EXPECT_EQ(peers_.find(100), nullptr);
    EXPECT_NE(peers_.find(1099), nullptr) << "the last ones are kept";
}

TEST_F(UcxPeersTest, WhatAnEndedPeerSendsLateDoesNotReachTheOneThatHasItsPlace) {
    const PeerId before = connect(address_of(100));
    arrive(100, 1, 500);
    lose(before);
    const PeerId peer = connect(address_of(101));
    arrive(100, 2, 500);
    EXPECT_EQ(peers_.slots(), 1U);
    EXPECT_EQ(peers_.link(peer).unexpected_bytes, 0U);
    std::vector<std::byte> bytes(500);
    int ends = 0;
    inbox_.receive({peer, {5, 2, 0}, bytes, [&](base::Result<> result) {
                        EXPECT_TRUE(result);
                        ++ends;
                    }});
    completions_.run();
    EXPECT_EQ(ends, 0);
    arrive(101, 2, 500);
    completions_.run();
    EXPECT_EQ(ends, 1);
    EXPECT_EQ(bytes, conformance::pattern(500, 2));
}

TEST(UcxReconnection, OperationsWithTheIdOfAPeerThatLeftEndAsUnavailable) {
    auto created = UcxTransport::create({});
    auto other = UcxTransport::create({});
    ASSERT_TRUE(created && other);
    UcxTransport& transport = **created;
    std::vector<PeerId> gone;
    for (int turn = 0; turn < 1000; ++turn) {
        gone.push_back(*transport.connect((*other)->address()));
        transport.disconnect(gone.back());
    }
    const PeerId peer = *transport.connect((*other)->address());
    size_t ended = 0;
    for (const PeerId old : gone) {
        EXPECT_NE(old, peer);
        transport.send(old, {1, 0, 0}, {}, [&](base::Result<> result) {
            ASSERT_FALSE(result);
            EXPECT_EQ(result.error().kind, ErrorKind::unavailable);
            ++ended;
        });
        transport.disconnect(old);
        transport.give_up(old, make_error(ErrorKind::unavailable, "late"));
        EXPECT_EQ(transport.heard(old), base::TimePoint{});
    }
    transport.poll();
    EXPECT_EQ(ended, gone.size());
    EXPECT_EQ(*transport.connect((*other)->address()), peer) << "it is a peer still";
}

}  // namespace
}  // namespace pace::transports
