// Peers: which keys the transport is told, and when it forgets them.
#include "daemon/runtime/peers.h"

#include <gtest/gtest.h>

namespace pace::daemon {
namespace {

using Bytes = std::vector<std::byte>;

// A transport that writes down what it is told of keys.
class KeyedTransport final : public transports::Transport {
  public:
    std::string_view name() const override { return "keyed"; }
    const transports::Address& address() const override { return address_; }
    base::Result<transports::PeerId> connect(std::span<const std::byte> /*address*/) override {
        return ++connected;
    }
    base::Result<> add_key(std::span<const std::byte> address,
                           const transports::PairKey& key) override {
        EXPECT_EQ(connected, connected_before_key) << "a key comes before the connection";
        keys.emplace_back(Bytes(address.begin(), address.end()), key);
        return {};
    }
    base::Result<> forget_keys(std::span<const std::byte> address) override {
        forgotten.emplace_back(address.begin(), address.end());
        return {};
    }
    void disconnect(transports::PeerId /*peer*/) override {}
    void give_up(transports::PeerId /*peer*/, const base::Error& /*error*/) override {}
    void send(transports::PeerId /*peer*/, transports::Tag /*tag*/,
              std::span<const std::byte> /*bytes*/, transports::Completion /*done*/) override {}
    void receive(transports::PeerId /*peer*/, transports::Tag /*tag*/,
                 std::span<std::byte> /*bytes*/, transports::Completion /*done*/) override {}
    void close_exchange(uint64_t /*exchange*/) override {}
    void end() override {}
    void ping(transports::PeerId /*peer*/) override {}
    base::TimePoint heard(transports::PeerId /*peer*/) const override { return {}; }
    void set_peer_lost_handler(transports::PeerLostHandler /*handler*/) override {}
    int event_fd() const override { return -1; }
    Counters counters() const override { return {}; }
    bool poll() override { return false; }
    bool arm() override { return true; }

    transports::Address address_;
    transports::PeerId connected = 0;
    transports::PeerId connected_before_key = 0;
    std::vector<std::pair<Bytes, transports::PairKey>> keys;
    std::vector<Bytes> forgotten;
};

Bytes bytes_of(size_t size, uint8_t first) {
    Bytes bytes(size);
    for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(first + i);
    return bytes;
}

class PeersTest : public testing::Test {
  protected:
    void know(NodeId node, const Bytes& address, const Bytes& key) {
        transport_.connected_before_key = transport_.connected;
        EXPECT_TRUE(peers_.know(node, "name", address, key));
    }

    KeyedTransport transport_;
    Peers peers_{transport_};
    const Bytes first_ = bytes_of(4, 1);
    const Bytes second_ = bytes_of(4, 9);
    const Bytes key_ = bytes_of(protocol::kPairKeyBytes, 100);
};

TEST_F(PeersTest, TheKeyIsTakenApartAndToldBeforeTheConnection) {
    know(3, first_, key_);
    ASSERT_EQ(transport_.keys.size(), 1U);
    EXPECT_EQ(transport_.keys[0].first, first_);
    EXPECT_EQ(transport_.keys[0].second.id[0], std::byte{100});
    EXPECT_EQ(transport_.keys[0].second.secret[0], std::byte{116});
    EXPECT_EQ(transport_.keys[0].second.secret[31], std::byte{147});
    EXPECT_EQ(transport_.connected, 1U);
}

TEST_F(PeersTest, AKeyOfAnotherSizeIsNone) {
    for (const size_t size : {0, 1, 47, 49, 4096}) know(3, first_, bytes_of(size, 1));
    EXPECT_TRUE(transport_.keys.empty());
}

TEST_F(PeersTest, TheKeysOfANodeThatIsGoneOrHasAnotherAddressAreForgotten) {
    know(3, first_, key_);
    know(3, first_, key_);
    EXPECT_TRUE(transport_.forgotten.empty()) << "the same instance has a new key";
    know(3, second_, key_);
    EXPECT_EQ(transport_.forgotten, (std::vector<Bytes>{first_}));
    peers_.forget(3);
    EXPECT_EQ(transport_.forgotten, (std::vector<Bytes>{first_, second_}));
}

TEST_F(PeersTest, AnInstanceThatIsKnownUnderTwoNumbersKeepsItsKeys) {
    know(3, first_, key_);
    know(4, first_, key_);
    peers_.forget(3);
    EXPECT_TRUE(transport_.forgotten.empty());
    peers_.forget(4);
    EXPECT_EQ(transport_.forgotten, (std::vector<Bytes>{first_}));
}

}  // namespace
}  // namespace pace::daemon
