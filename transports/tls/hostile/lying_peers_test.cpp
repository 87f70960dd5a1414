// Lying peers: an instance that has a key and breaks the rules. It is lost, and disturbs no other.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "transports/tls/testing/nodes.h"
#include "transports/tls/testing/raw_client.h"
#include "transports/tls/wire/sockets.h"

namespace pace::transports::tls {
namespace {

using testing::await;
using testing::Bytes;
using testing::make_node;
using testing::random_key;
using testing::RawClient;
using testing::RawTlsOptions;
using testing::share;

// A node, a peer of it, and an instance of the test's own that has a key for the node.
class TlsLyingPeers : public ::testing::Test {
  protected:
    void SetUp() override {
        TlsOptions options;
        // Nobody answers at the instance's address, and no test waits for that.
        options.unmoved_max = std::chrono::seconds(100);
        options.unexpected_bytes_max = 100'000;
        node_ = make_node(options);
        peer_ = make_node();
        share(*node_, *peer_, random_key());
        to_peer_ = *node_->connect(peer_->address());
        to_node_ = *peer_->connect(node_->address());
        auto listening = listen_on(*read_endpoint("127.0.0.1", 0));
        ASSERT_TRUE(listening);
        TlsAddress address = *parse_address(node_->address());
        node_instance_ = address.instance;
        address.instance = liar_;
        address.endpoints = {listening->endpoint};
        address_ = encode_address(address);
        ASSERT_TRUE(node_->add_key(address_, key_));
        silent_ = std::move(listening->fd);
        node_->set_peer_lost_handler([this](PeerId peer, const base::Error& error) {
            lost_.emplace_back(peer, error.message);
        });
        node_->set_stranger_handler(
            [this](const TlsTransport::Stranger& stranger) { told_ += stranger.reason; });
        EXPECT_TRUE(peers_talk());
    }

    template <typename Done>
    bool await_here(Done done) {
        return await({node_.get(), peer_.get()}, done);
    }

    bool peers_talk() {
        int ended = 0;
        const auto end = [&](const base::Result<>& result) { ended += result ? 1 : 1000; };
        const Tag tag{++exchange_, 0, 0};
        const Bytes sent(300'000, std::byte{7});
        Bytes received(300'000);
        node_->receive(to_peer_, tag, received, end);
        peer_->send(to_node_, tag, sent, end);
        return await_here([&] { return ended >= 2; }) && ended == 2 && received == sent;
    }

    // Opens a connection to the node as a peer does.
    std::unique_ptr<RawClient> introduce(uint64_t number = 1) {
        to_liar_ = *node_->connect(address_);
        auto client = std::make_unique<RawClient>(node_->address(), RawTlsOptions{&key_});
        EXPECT_TRUE(await_here([&] { return client->step(); }));
        client->write(encode_hello({liar_, node_instance_, number}));
        client->step();
        return client;
    }

    // The ticket of the next large message that the node asks the liar for. Each peers_talk() has
    // taken one.
    uint64_t next_ticket() { return exchange_ + ++asked_; }

    // The node loses the liar, and says why.
    bool is_lost(RawClient& client, std::string_view why) {
        const bool lost = await_here([&] {
            client.step();
            return !lost_.empty();
        });
        if (!lost) return false;
        EXPECT_EQ(lost_.size(), 1U);
        EXPECT_EQ(lost_[0].first, to_liar_);
        EXPECT_NE(lost_[0].second.find(why), std::string::npos) << lost_[0].second;
        EXPECT_TRUE(await_here([&] { return client.is_closed(); }));
        lost_.clear();
        return peers_talk();
    }

    static Frame frame(FrameKind kind, uint64_t size, uint64_t ticket = 0, uint64_t argument = 0) {
        Frame made;
        made.kind = kind;
        made.exchange = 1'000'000;
        made.size = size;
        made.ticket = ticket;
        made.argument = argument;
        return made;
    }

    std::unique_ptr<TlsTransport> node_;
    std::unique_ptr<TlsTransport> peer_;
    InstanceId node_instance_{};
    const InstanceId liar_{std::byte{1}, std::byte{2}, std::byte{3}};
    const PairKey key_ = random_key();
    Address address_;
    base::UniqueFd silent_;  // takes connections and says nothing
    PeerId to_peer_ = 0;
    PeerId to_node_ = 0;
    PeerId to_liar_ = 0;
    uint64_t exchange_ = 0;
    uint64_t asked_ = 0;
    std::vector<std::pair<PeerId, std::string>> lost_;
    std::string told_;
};

TEST_F(TlsLyingPeers, ThatIntroduceThemselvesAsOthersAreRefused) {
    const InstanceId peer_instance = parse_address(peer_->address())->instance;
    struct Case {
        Hello hello;
        std::string_view why;
    };
    for (const Case& each :
         {Case{{peer_instance, node_instance_, 9}, "another instance than its key's"},
          Case{{liar_, peer_instance, 9}, "looks for another instance"},
          Case{{liar_, liar_, 9}, "looks for another instance"}}) {
        told_.clear();
        RawClient client(node_->address(), {&key_});
        EXPECT_TRUE(await_here([&] { return client.step(); }));
        client.write(encode_hello(each.hello));
        EXPECT_TRUE(await_here([&] { return client.is_closed(); }));
        EXPECT_NE(told_.find(each.why), std::string::npos) << told_;
        EXPECT_TRUE(peers_talk());
    }
    EXPECT_TRUE(lost_.empty());
}

TEST_F(TlsLyingPeers, ThatDoNotIntroduceThemselvesAreRefused) {
    RawClient client(node_->address(), {&key_});
    EXPECT_TRUE(await_here([&] { return client.step(); }));
    client.write(frame(FrameKind::eager, 40), Bytes(40));
    EXPECT_TRUE(await_here([&] { return client.is_closed(); }));
    EXPECT_NE(told_.find("does not introduce itself"), std::string::npos) << told_;
    EXPECT_TRUE(peers_talk());
}

TEST_F(TlsLyingPeers, WhoseNewConnectionIsOlderThanTheFirstKeepTheFirst) {
    const auto client = introduce(5);
    client->write(frame(FrameKind::eager, 4), Bytes(4));
    EXPECT_TRUE(await_here([&] {
        client->step();
        return node_->counters().messages_unexpected == 1;
    }));
    const auto older = introduce(4);
    EXPECT_TRUE(await_here([&] { return older->is_closed(); }));
    EXPECT_NE(told_.find("older"), std::string::npos) << told_;
    EXPECT_FALSE(client->is_closed());
    const auto newer = introduce(6);
    EXPECT_TRUE(is_lost(*client, "connected anew"));
}

TEST_F(TlsLyingPeers, WhoseFramesCannotBeAreLost) {
    Frame unknown = frame(static_cast<FrameKind>(77), 0);
    const size_t segment = TlsOptions{}.segment_bytes;
    uint64_t number = 0;
    for (const Frame& lie :
         {unknown, frame(static_cast<FrameKind>(0), 0), frame(FrameKind::eager, segment + 1),
          frame(FrameKind::eager, ~uint64_t{0}), frame(FrameKind::data, segment + 1),
          frame(FrameKind::data, 0), frame(FrameKind::data, ~uint64_t{0}),
          frame(FrameKind::accept, 1), frame(FrameKind::credit, 8), frame(FrameKind::hello, 7)}) {
        const auto client = introduce(++number);
        client->write(lie);
        EXPECT_TRUE(is_lost(*client, "a frame of")) << static_cast<uint32_t>(lie.kind);
    }
    const auto client = introduce(++number);
    client->write(encode_hello({liar_, node_instance_, number}));
    EXPECT_TRUE(is_lost(*client, "introduces itself twice"));
}

TEST_F(TlsLyingPeers, ThatSendASlotTwiceOrMoreThanIsKeptAreLost) {
    const auto twice = introduce(1);
    for (int i = 0; i < 2; ++i) twice->write(frame(FrameKind::eager, 4), Bytes(4));
    EXPECT_TRUE(is_lost(*twice, "twice"));
    const auto much = introduce(2);
    Frame message = frame(FrameKind::eager, 1000);
    for (; message.slot < 200; ++message.slot) {
        much->write(message, Bytes(1000));
        much->step();
    }
    EXPECT_TRUE(is_lost(*much, "100000 bytes"));
    EXPECT_EQ(node_->counters().messages_unexpected, 0U);
}

// The node asks for a message of 1000 bytes. The liar answers with other data.
TEST_F(TlsLyingPeers, WhoseDataIsNotWhatWasAskedForAreLost) {
    const std::vector<std::pair<uint64_t, uint64_t>> lies = {
        {1001, 0}, {10, 1}, {10, ~uint64_t{0}}, {1000, 1000}};
    uint64_t number = 0;
    for (const auto& [size, offset] : lies) {
        const auto client = introduce(++number);
        const uint64_t ticket = next_ticket();
        Bytes received(3000, std::byte{9});
        bool ended = false;
        node_->receive(to_liar_, {1'000'000, 0, 0}, std::span(received).subspan(1000, 1000),
                       [&](base::Result<> result) {
                           EXPECT_FALSE(result);
                           ended = true;
                       });
        client->write(frame(FrameKind::offer, 1000, 5));
        client->write(frame(FrameKind::data, size, ticket, offset), Bytes(size));
        EXPECT_TRUE(is_lost(*client, "other bytes"));
        EXPECT_TRUE(ended);
        EXPECT_EQ(received, Bytes(3000, std::byte{9}));
    }
}

// The data's header comes before its ticket exists, and its bytes come after.
TEST_F(TlsLyingPeers, CannotNameAReceiveThatDoesNotExistYet) {
    const auto client = introduce();
    const uint64_t ticket = next_ticket();
    Bytes early(2000, std::byte{1});
    const FrameBytes header = encode_frame(frame(FrameKind::data, 2000, ticket, 123));
    client->write(Bytes(header.begin(), header.end()));
    client->write(std::span(early).first(10));
    bool ended = false;
    Bytes received(1000, std::byte{9});
    for (int turn = 0; turn < 20; ++turn) {
        client->step();
        node_->poll();
    }
    node_->receive(to_liar_, {1'000'000, 0, 0}, received,
                   [&](const base::Result<>&) { ended = true; });
    client->write(std::span(early).subspan(10));
    client->write(frame(FrameKind::offer, 1000, 5));
    client->write(frame(FrameKind::data, 1000, ticket, 0), Bytes(1000, std::byte{2}));
    EXPECT_TRUE(await_here([&] {
        client->step();
        return ended;
    }));
    EXPECT_EQ(received, Bytes(1000, std::byte{2}));
    EXPECT_TRUE(lost_.empty());
}

TEST_F(TlsLyingPeers, ThatAnswerQuestionsThatNobodyAskedDisturbNothing) {
    const auto client = introduce();
    for (uint64_t ticket = 0; ticket < 100; ++ticket) {
        client->write(frame(FrameKind::refuse, 0, ticket));
        client->write(frame(FrameKind::credit, 0, 0, ~ticket));
        client->write(frame(FrameKind::withdrawn, 0, 0, ticket));
        client->write(frame(FrameKind::pong, 0));
        client->write(frame(FrameKind::data, 100, ticket), Bytes(100));
        client->step();
    }
    client->write(frame(FrameKind::eager, 4), Bytes(4));
    EXPECT_TRUE(await_here([&] {
        client->step();
        return node_->counters().messages_unexpected == 1;
    }));
    EXPECT_TRUE(lost_.empty());
    EXPECT_TRUE(peers_talk());
}

// Nothing that this node answers is ever taken.
TEST_F(TlsLyingPeers, ThatAskWithoutEndAndTakeNoAnswerAreLost) {
    const auto client = introduce();
    for (int i = 0; i < 20'000 && lost_.empty(); ++i) {
        client->write(frame(FrameKind::accept, 0, 1'000'000, 1));
        client->write(frame(FrameKind::ping, 0));
        client->step();
        node_->poll();
    }
    EXPECT_TRUE(is_lost(*client, "takes none"));
}

// Records without data keep the node busy, but not for long at a time.
TEST_F(TlsLyingPeers, ThatChangeTheirKeysWithoutEndDoNotHoldTheLoop) {
    const auto client = introduce();
    const uint64_t before = exchange_;
    for (int i = 0; i < 2000; ++i) {
        client->tls().update_key();
        client->write(frame(FrameKind::pong, 0));
        client->step();
        if (i % 100 == 0 && lost_.empty()) {
            EXPECT_TRUE(peers_talk());
        }
    }
    EXPECT_EQ(exchange_, before + 20);
}

TEST_F(TlsLyingPeers, ThatLeaveInTheMidstOfAFrameAreLost) {
    const FrameBytes header = encode_frame(frame(FrameKind::eager, 100));
    uint64_t number = 0;
    for (const size_t cut : {1U, 47U, 48U, 100U}) {
        auto client = introduce(++number);
        Bytes bytes(header.begin(), header.end());
        bytes.resize(148);
        client->write(std::span(bytes).first(cut));
        client->step();
        client.reset();
        EXPECT_TRUE(await_here([&] { return !lost_.empty(); }));
        lost_.clear();
        EXPECT_TRUE(peers_talk());
    }
}

}  // namespace
}  // namespace pace::transports::tls
