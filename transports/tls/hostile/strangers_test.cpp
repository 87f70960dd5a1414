// Strangers: whoever reaches the port and has no key. They disturb no peer, and keep none out.
#include <sys/resource.h>
#include <sys/socket.h>

#include <deque>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "transports/conformance/fixture.h"
#include "transports/tls/testing/nodes.h"
#include "transports/tls/testing/raw_client.h"

namespace pace::transports::tls {
namespace {

using testing::await;
using testing::Bytes;
using testing::bytes_of;
using testing::make_node;
using testing::random_key;
using testing::RawClient;
using testing::RawSocket;
using testing::RawTlsOptions;
using testing::share;

// A node to which strangers come, and a peer that it talks with all the time.
class TlsStrangers : public ::testing::Test {
  protected:
    void begin(const TlsOptions& options = {}) {
        node_ = make_node(options);
        peer_ = make_node();
        key_ = random_key();
        share(*node_, *peer_, key_);
        to_peer_ = *node_->connect(peer_->address());
        to_node_ = *peer_->connect(node_->address());
        node_->set_stranger_handler(
            [this](const TlsTransport::Stranger& stranger) { told_.push_back(stranger); });
        for (TlsTransport* each : {node_.get(), peer_.get()})
            each->set_peer_lost_handler(
                [this](PeerId, const base::Error& error) { lost_ = error.message; });
        EXPECT_TRUE(peers_talk());
    }

    template <typename Done>
    bool await_here(Done done) {
        return await({node_.get(), peer_.get()}, done);
    }

    // A message crosses in both directions.
    bool peers_talk() {
        const Tag tag{++exchange_, 0, 0};
        const Bytes sent(1000, std::byte{7});
        std::array<Bytes, 2> received = {Bytes(1000), Bytes(1000)};
        int ended = 0;
        const auto end = [&](const base::Result<>& result) { ended += result ? 1 : 1000; };
        node_->receive(to_peer_, tag, received[0], end);
        peer_->receive(to_node_, tag, received[1], end);
        node_->send(to_peer_, tag, sent, end);
        peer_->send(to_node_, tag, sent, end);
        const bool all = await_here([&] { return ended >= 4; });
        return all && ended == 4 && received[0] == sent && received[1] == sent && lost_.empty();
    }

    // The node closes the connection.
    bool is_refused(RawClient& client) {
        return await_here([&] { return client.is_closed(); });
    }

    bool was_told(std::string_view reason) const {
        return std::any_of(told_.begin(), told_.end(), [&](const auto& stranger) {
            return stranger.reason.find(reason) != std::string::npos &&
                   stranger.source.starts_with("127.0.0.1:");
        });
    }

    std::string told() const {
        std::string all;
        for (const auto& stranger : told_) all += stranger.source + ": " + stranger.reason + "\n";
        return all;
    }

    std::unique_ptr<TlsTransport> node_;
    std::unique_ptr<TlsTransport> peer_;
    PairKey key_;
    PeerId to_peer_ = 0;
    PeerId to_node_ = 0;
    uint64_t exchange_ = 0;
    std::string lost_;
    std::vector<TlsTransport::Stranger> told_;
};

TEST_F(TlsStrangers, ThatSpeakAnotherLanguageAreRefusedAndTold) {
    begin();
    Bytes ucx(56, std::byte{0});
    ucx[0] = std::byte{3};
    const std::vector<Bytes> words = {
        bytes_of("GET / HTTP/1.1\r\nHost: node\r\n\r\n"), bytes_of("SSH-2.0-OpenSSH_9.2\r\n"), ucx,
        Bytes(10'000, std::byte{0xFF}), conformance::pattern(10'000, 1)};
    for (const Bytes& said : words) {
        RawSocket stranger(node_->address());
        told_.clear();
        EXPECT_TRUE(await_here([&] { return stranger.send(said); }));
        EXPECT_TRUE(await_here([&] { return stranger.is_closed(); }));
        EXPECT_EQ(told_.size(), 1U) << told();
        EXPECT_TRUE(was_told("TLS: ")) << told();
        EXPECT_TRUE(peers_talk());
    }
}

TEST_F(TlsStrangers, ThatSayNothingAreClosedWhenTheirTimeIsOver) {
    TlsOptions options;
    options.handshake_max = std::chrono::milliseconds(50);
    begin(options);
    RawSocket silent(node_->address());
    RawSocket dribbles(node_->address());
    // The begin of a TLS record, byte by byte.
    const Bytes record = {std::byte{22}, std::byte{3}, std::byte{1}, std::byte{2}, std::byte{0}};
    size_t sent = 0;
    EXPECT_TRUE(await_here([&] {
        const auto next = std::span(record).subspan(sent % record.size(), 1);
        if (sent < record.size() && dribbles.send(next)) ++sent;
        return silent.is_closed() && dribbles.is_closed();
    }));
    EXPECT_TRUE(was_told("it said nothing")) << told();
    EXPECT_TRUE(was_told("it did not prove in time who it is")) << told();
    EXPECT_TRUE(peers_talk());
}

TEST_F(TlsStrangers, ThatCloseAtOnceAreTold) {
    begin();
    RawSocket stranger(node_->address());
    stranger.close();
    EXPECT_TRUE(await_here([&] { return !told_.empty(); }));
    EXPECT_TRUE(peers_talk());
}

TEST_F(TlsStrangers, WithoutTheRightKeyAreRefused) {
    begin();
    const PairKey unknown = random_key();
    PairKey wrong_secret = key_;
    wrong_secret.secret[31] ^= std::byte{1};
    PairKey wrong_id = key_;
    wrong_id.id[0] ^= std::byte{1};
    // The key of two other nodes.
    auto other = make_node();
    const PairKey others = random_key();
    share(*peer_, *other, others);
    for (const PairKey& key : {unknown, wrong_secret, wrong_id, others}) {
        told_.clear();
        RawClient stranger(node_->address(), {&key});
        EXPECT_TRUE(is_refused(stranger));
        EXPECT_FALSE(stranger.step()) << "the handshake is not done";
        EXPECT_EQ(told_.size(), 1U) << told();
        EXPECT_TRUE(peers_talk());
    }
}

TEST_F(TlsStrangers, WithAKeyThatWasForgottenOrIsTooOldAreRefused) {
    begin();
    const auto departed = make_node();
    const PairKey forgotten = random_key();
    EXPECT_TRUE(node_->add_key(departed->address(), forgotten));
    EXPECT_TRUE(node_->forget_keys(departed->address()));
    const PairKey oldest = key_;
    for (int i = 0; i < 2; ++i) share(*node_, *peer_, random_key());
    for (const PairKey& key : {forgotten, oldest}) {
        told_.clear();
        RawClient stranger(node_->address(), {&key});
        EXPECT_TRUE(is_refused(stranger));
        EXPECT_TRUE(was_told("it names no key that this node has")) << told();
        EXPECT_TRUE(peers_talk());
    }
}

TEST_F(TlsStrangers, WithoutAnyKeyOrWithAnOlderTlsAreRefused) {
    begin();
    for (const RawTlsOptions& options :
         {RawTlsOptions{nullptr}, RawTlsOptions{nullptr, TLS1_2_VERSION},
          RawTlsOptions{&key_, TLS1_2_VERSION}}) {
        told_.clear();
        RawClient stranger(node_->address(), options);
        EXPECT_TRUE(is_refused(stranger));
        EXPECT_EQ(told_.size(), 1U) << told();
        EXPECT_TRUE(peers_talk());
    }
}

TEST_F(TlsStrangers, ThatLeaveAtAnyByteOfTheHandshakeDisturbNothing) {
    begin();
    const auto client = make_node();
    const PairKey key = random_key();
    EXPECT_TRUE(node_->add_key(client->address(), key));
    bool was_done = false;
    // The client ends its part of the handshake within some hundred bytes.
    for (size_t cut = 0; cut < 2000 && !was_done; ++cut) {
        RawSocket socket(node_->address());
        testing::RawTls tls({&key});
        size_t left = cut;
        bool is_over = false;
        EXPECT_TRUE(await_here([&] {
            was_done = tls.handshake() && left > 0;
            Bytes outgoing = tls.take_outgoing();
            is_over = is_over || outgoing.size() > left;
            outgoing.resize(std::min(outgoing.size(), left));
            EXPECT_TRUE(outgoing.empty() || socket.send(outgoing));
            left -= outgoing.size();
            tls.add_incoming(socket.receive());
            return is_over || was_done;
        })) << cut;
        socket.close();
        for (int turn = 0; turn < 5; ++turn) node_->poll();
    }
    EXPECT_TRUE(was_done);
    EXPECT_TRUE(peers_talk());
}

TEST_F(TlsStrangers, ThatRepeatWhatAPeerSaidAreRefused) {
    begin();
    const auto client = make_node();
    const PairKey key = random_key();
    EXPECT_TRUE(node_->add_key(client->address(), key));
    EXPECT_TRUE(node_->connect(client->address()));
    RawClient peer(node_->address(), {&key});
    EXPECT_TRUE(await_here([&] { return peer.step(); }));
    EXPECT_TRUE(peer.tls().has_fresh_secrets());
    peer.write(encode_hello({parse_address(client->address())->instance,
                             parse_address(node_->address())->instance, 1}));
    Frame frame;
    frame.kind = FrameKind::eager;
    frame.exchange = 77;
    frame.size = 3;
    peer.write(frame, Bytes(3));
    EXPECT_TRUE(await_here([&] {
        peer.step();
        return node_->counters().messages_unexpected == 1;
    }));
    const Bytes recorded = peer.sent();
    RawSocket stranger(node_->address());
    EXPECT_TRUE(await_here([&] { return stranger.send(recorded); }));
    EXPECT_TRUE(await_here([&] { return stranger.is_closed(); }));
    EXPECT_EQ(node_->counters().messages_unexpected, 1U);
    EXPECT_EQ(told_.size(), 1U) << told();
    EXPECT_TRUE(peers_talk());
}

TEST_F(TlsStrangers, ByTheThousandDisturbNoPeerAndKeepNoneOut) {
    TlsOptions options;
    options.handshake_max = std::chrono::milliseconds(500);
    options.strangers_max = 100;
    options.strangers_of_source_max = 50;
    begin(options);
    std::deque<RawSocket> crowd;
    std::deque<RawClient> speaks;
    const PairKey unknown = random_key();
    for (int i = 0; i < 2000; ++i) {
        crowd.emplace_back(node_->address());
        if (i % 20 == 0) {
            speaks.emplace_back(node_->address(), RawTlsOptions{&unknown});
            speaks.back().step();
        }
        EXPECT_TRUE(i % 100 != 0 || peers_talk());
    }
    // A peer that comes now is let in.
    const auto late = make_node();
    share(*late, *node_, random_key());
    const PeerId to_node = *late->connect(node_->address());
    EXPECT_TRUE(node_->connect(late->address()));
    bool sent = false;
    const Bytes bytes(100'000);
    Bytes received(100'000);
    late->send(to_node, {1, 1, 1}, bytes, [&](base::Result<> result) { sent = result.ok(); });
    node_->receive(*node_->connect(late->address()), {1, 1, 1}, received, {});
    EXPECT_TRUE(await({node_.get(), peer_.get(), late.get()}, [&] { return sent; }));
    EXPECT_TRUE(peers_talk());
    EXPECT_LE(told_.size(), 40U) << "a flood is told in few words";
    EXPECT_TRUE(await_here([&] {
        return std::all_of(crowd.begin(), crowd.end(), [](auto& each) { return each.is_closed(); });
    }));
    EXPECT_TRUE(peers_talk());
}

// Takes all descriptors of the process but those that are open.
class NoMoreDescriptors {
  public:
    NoMoreDescriptors() {
        getrlimit(RLIMIT_NOFILE, &before_);
        const base::UniqueFd next(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        rlimit now = before_;
        now.rlim_cur = static_cast<rlim_t>(next.get());
        setrlimit(RLIMIT_NOFILE, &now);
    }
    ~NoMoreDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }
    NoMoreDescriptors(const NoMoreDescriptors&) = delete;
    NoMoreDescriptors& operator=(const NoMoreDescriptors&) = delete;

  private:
    rlimit before_{};
};

TEST_F(TlsStrangers, WaitWhenNoDescriptorIsLeftAndTheLoopSleeps) {
    begin();
    RawSocket stranger(node_->address());
    {
        const NoMoreDescriptors none;
        EXPECT_TRUE(peers_talk());
        // The node has seen the stranger, and does not look at the door again and again.
        EXPECT_TRUE(await_here([&] { return !node_->poll() && node_->arm(); }));
        EXPECT_FALSE(node_->poll());
    }
    stranger.close();
    EXPECT_TRUE(await_here([&] { return !told_.empty(); })) << "the door opens again";
    EXPECT_TRUE(peers_talk());
}

}  // namespace
}  // namespace pace::transports::tls
