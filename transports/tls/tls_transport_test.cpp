#include "transports/tls/tls_transport.h"

#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <array>
#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "base/loop/event_loop.h"
#include "transports/conformance.h"
#include "transports/tls/testing/nodes.h"
#include "transports/tls/wire/sockets.h"

PACE_INSTANTIATE_CONFORMANCE(Tls, pace::transports::tls::testing::Fabric);

namespace pace::transports::tls {
namespace {

using testing::await;
using testing::make_node;
using testing::random_key;
using testing::share;

TEST(TlsTransport, RefusesOptionsThatMakeNoSense) {
    const auto refused = [](auto change) {
        TlsOptions options;
        change(options);
        const auto transport = TlsTransport::create(options);
        return !transport && !transport.error().message.empty();
    };
    EXPECT_TRUE(refused([](TlsOptions& o) { o.listen.clear(); }));
    EXPECT_TRUE(refused([](TlsOptions& o) { o.listen = {{"0.0.0.0", 0}}; }));
    EXPECT_TRUE(refused([](TlsOptions& o) { o.listen = {{"localhost", 0}}; }));
    EXPECT_TRUE(refused([](TlsOptions& o) { o.listen = {{"192.0.2.1", 0}}; })) << "not ours";
    EXPECT_TRUE(refused([](TlsOptions& o) { o.segment_bytes = 1; }));
    EXPECT_TRUE(refused([](TlsOptions& o) { o.eager_bytes_max = o.segment_bytes + 1; }));
    EXPECT_TRUE(refused([](TlsOptions& o) { o.unexpected_bytes_max = 1; }));
    EXPECT_TRUE(refused([](TlsOptions& o) { o.keepalive_interval = std::chrono::seconds(0); }));
    EXPECT_TRUE(refused([](TlsOptions& o) { o.unmoved_max = std::chrono::milliseconds(0); }));
    EXPECT_TRUE(refused([](TlsOptions& o) { o.strangers_max = 0; }));
}

TEST(TlsTransport, RefusesAPeerWithOtherSegments) {
    TlsOptions other;
    other.segment_bytes /= 2;
    const auto a = make_node();
    const auto b = make_node(other);
    const auto peer = a->connect(b->address());
    ASSERT_FALSE(peer);
    EXPECT_EQ(peer.error().kind, base::ErrorKind::mismatch);
}

// Two transports that keep few bytes of messages that nobody has asked for.
class TlsUnasked : public ::testing::Test {
  protected:
    TlsUnasked() {
        TlsOptions options;
        options.unexpected_bytes_max = 100'000;
        a_ = make_node(options);
        b_ = make_node(options);
        share(*a_, *b_, random_key());
        a_to_b_ = *a_->connect(b_->address());
        b_to_a_ = *b_->connect(a_->address());
        b_->set_peer_lost_handler(
            [this](PeerId, const base::Error& error) { lost_ = error.message; });
    }

    std::unique_ptr<TlsTransport> a_;
    std::unique_ptr<TlsTransport> b_;
    PeerId a_to_b_ = 0;
    PeerId b_to_a_ = 0;
    std::string lost_;
};

TEST_F(TlsUnasked, ASenderThatRunsAheadIsHeldBackAndNothingIsLost) {
    constexpr uint32_t kMessages = 300;
    const std::array<std::vector<std::byte>, 3> sent = {
        std::vector<std::byte>{}, conformance::pattern(700, 1), conformance::pattern(10'000, 2)};
    for (const uint64_t exchange : {1U, 2U, 3U}) {
        uint32_t sends = 0;
        uint32_t receives = 0;
        for (uint32_t slot = 0; slot < kMessages; ++slot)
            a_->send(a_to_b_, {exchange, slot, 0}, sent[slot % sent.size()],
                     [&](const base::Result<>& result) { sends += result ? 1U : 1000U; });
        for (int turn = 0; turn < 1000; ++turn) {
            a_->poll();
            b_->poll();
        }
        EXPECT_LT(sends, kMessages) << "some wait at the sender";
        std::vector<std::vector<std::byte>> received(kMessages);
        for (uint32_t slot = 0; slot < kMessages; ++slot) {
            received[slot].resize(sent[slot % sent.size()].size());
            b_->receive(b_to_a_, {exchange, slot, 0}, received[slot],
                        [&](const base::Result<>& result) { receives += result ? 1U : 1000U; });
        }
        ASSERT_TRUE(await({a_.get(), b_.get()},
                          [&] { return sends == kMessages && receives == kMessages; }));
        for (uint32_t slot = 0; slot < kMessages; ++slot)
            EXPECT_EQ(received[slot], sent[slot % sent.size()]) << slot;
    }
    EXPECT_EQ(lost_, "");
}

TEST_F(TlsUnasked, APeerThatOffersWithoutEndIsGivenUp) {
    const std::vector<std::byte> bytes(20'000);
    for (uint32_t slot = 0; slot < 2000; ++slot) a_->send(a_to_b_, {1, slot, 0}, bytes, {});
    ASSERT_TRUE(await({a_.get(), b_.get()}, [&] { return !lost_.empty(); }));
    EXPECT_NE(lost_.find("100000 bytes"), std::string::npos) << lost_;
}

// Of two large messages none waits for the whole other, and a small one waits for neither.
TEST(TlsTransport, LetsMessagesTakeTurns) {
    const auto a = make_node();
    const auto b = make_node();
    share(*a, *b, random_key());
    const PeerId to_b = *a->connect(b->address());
    const PeerId to_a = *b->connect(a->address());
    const std::vector<std::byte> sent = conformance::pattern(20'000'000, 1);
    std::array<std::vector<std::byte>, 3> received;
    std::string order;
    for (const uint32_t slot : {0U, 1U, 2U}) {
        // The last message is small, and the second is half as large as the first.
        const size_t size = slot == 0 ? sent.size() : (slot == 1 ? sent.size() / 2 : 10);
        received[slot].resize(size);
        b->receive(to_a, {1, slot, 0}, received[slot],
                   [&order, slot](const base::Result<>&) { order += std::to_string(slot); });
    }
    a->send(to_b, {1, 0, 0}, sent, {});
    a->send(to_b, {1, 1, 0}, std::span(sent).first(sent.size() / 2), {});
    ASSERT_TRUE(await({a.get(), b.get()}, [&] {
        return b->counters().messages_received > 0 || b->heard(to_a) != base::TimePoint{};
    }));
    for (int turn = 0; turn < 5; ++turn) {
        a->poll();
        b->poll();
    }
    a->send(to_b, {1, 2, 0}, std::span(sent).first(10), {});
    ASSERT_TRUE(await({a.get(), b.get()}, [&] { return order.size() == 3; }));
    EXPECT_EQ(order, "210");
    EXPECT_EQ(received[0], sent);
}

TEST(TlsTransport, LosesAPeerWhoseHostTakesAConnectionThatNobodyAnswers) {
    const auto listening = listen_on(*read_endpoint("127.0.0.1", 0));
    ASSERT_TRUE(listening);
    TlsOptions options;
    options.unmoved_max = std::chrono::milliseconds(300);
    const auto node = make_node(options);
    TlsAddress address = *parse_address(node->address());
    address.instance[0] ^= std::byte{1};
    address.endpoints = {listening->endpoint};
    const Address silent = encode_address(address);
    ASSERT_TRUE(node->add_key(silent, random_key()));
    std::string lost;
    node->set_peer_lost_handler([&](PeerId, const base::Error& error) { lost = error.message; });
    bool failed = false;
    node->send(*node->connect(silent), {1, 0, 0}, {}, [&](const base::Result<>&) {});
    node->receive(*node->connect(silent), {1, 0, 0}, {},
                  [&](const base::Result<>& result) { failed = !result; });
    const base::TimePoint began = base::now();
    EXPECT_TRUE(await({node.get()}, [&] { return !lost.empty(); }));
    EXPECT_NE(lost.find("nobody answers"), std::string::npos) << lost;
    EXPECT_GE(base::now() - began, options.unmoved_max);
    EXPECT_TRUE(failed);
}

TEST(TlsTransport, ReachesAPeerAtItsSecondEndpointIfNobodyListensAtTheFirst) {
    TlsOptions two;
    two.listen = {{"127.0.0.1", 0}, {"127.0.0.2", 0}};
    const auto a = make_node();
    const auto b = make_node(two);
    TlsAddress address = *parse_address(b->address());
    ASSERT_EQ(address.endpoints.size(), 2U);
    {
        const auto gone = listen_on(*read_endpoint("127.0.0.1", 0));
        ASSERT_TRUE(gone);
        address.endpoints[0] = gone->endpoint;
    }
    const PairKey key = random_key();
    ASSERT_TRUE(b->add_key(a->address(), key));
    ASSERT_TRUE(a->add_key(encode_address(address), key));
    const PeerId to_b = *a->connect(encode_address(address));
    ASSERT_TRUE(b->connect(a->address()));
    a->ping(to_b);
    EXPECT_TRUE(await({a.get(), b.get()}, [&] { return a->heard(to_b) != base::TimePoint{}; }));
}

TEST(TlsTransport, LosesAPeerThatTakesNothingForTooLongAndDisturbsNoOther) {
    // The transports end what is under way when they go, so they go before what that writes.
    const std::vector<std::byte> sent(50'000'000);
    std::vector<std::byte> received(sent.size());
    std::vector<std::byte> small(1000);
    std::string lost;
    bool failed = false;
    bool ended = true;
    uint64_t exchange = 1;
    TlsOptions options;
    options.unmoved_max = std::chrono::milliseconds(400);
    const auto node = make_node(options);
    const auto frozen = make_node();
    const auto other = make_node();
    share(*node, *frozen, random_key());
    share(*node, *other, random_key());
    node->set_peer_lost_handler([&](PeerId, const base::Error& error) { lost = error.message; });
    const PeerId to_frozen = *node->connect(frozen->address());
    const PeerId to_other = *node->connect(other->address());
    const PeerId back = *other->connect(node->address());
    node->send(to_frozen, {1, 0, 0}, sent, [&](const base::Result<>& result) { failed = !result; });
    frozen->receive(*frozen->connect(node->address()), {1, 0, 0}, received, {});
    // The peer freezes when it has asked for the bytes.
    ASSERT_TRUE(await({node.get(), frozen.get()},
                      [&] { return node->heard(to_frozen) != base::TimePoint{}; }));
    ASSERT_TRUE(await({node.get(), other.get()}, [&] {
        if (ended) {
            ended = false;
            other->receive(back, {++exchange, 0, 0}, small,
                           [&](const base::Result<>& result) { ended = result.ok(); });
            node->send(to_other, {exchange, 0, 0}, std::span(sent).first(small.size()), {});
        }
        return !lost.empty();
    }));
    EXPECT_TRUE(failed);
    EXPECT_GT(exchange, 20U) << "the other peer is served all the time";
}

TEST(TlsTransport, ReachesAPeerByIpV6) {
    TlsOptions v6;
    v6.listen = {{"::1", 0}};
    auto created = TlsTransport::create(v6);
    if (!created) GTEST_SKIP() << created.error().message;
    const auto a = make_node();
    TlsTransport& b = **created;
    share(*a, b, random_key());
    const PeerId to_b = *a->connect(b.address());
    ASSERT_TRUE(b.connect(a->address()));
    a->ping(to_b);
    EXPECT_TRUE(await({a.get(), &b}, [&] { return a->heard(to_b) != base::TimePoint{}; }));
}

TEST(TlsTransport, WakesAnEventLoopThatSleeps) {
    auto loop = base::EventLoop::create();
    ASSERT_TRUE(loop);
    const auto a = make_node();
    const auto b = make_node();
    const PairKey key = random_key();
    ASSERT_TRUE(a->add_key(b->address(), key));
    const PeerId a_to_b = *a->connect(b->address());
    const PeerId b_to_a = *b->connect(a->address());
    for (TlsTransport* transport : {a.get(), b.get()}) {
        (*loop)->add_poller(transport);
        ASSERT_TRUE((*loop)->watch(transport->event_fd(), EPOLLIN, [](uint32_t) {}));
    }
    // The message is larger than any socket buffer, so that sending itself must be woken. There is
    // a pause before each round. The other side's key comes in the first pause, so that the timer
    // must wake as well.
    const auto sent = conformance::pattern(30'000'000, 1);
    std::vector<std::byte> received(sent.size());
    int rounds = 0;
    base::Timer next;
    const base::Timer introduced = (*loop)->run_after(
        std::chrono::milliseconds(40), [&] { EXPECT_TRUE(b->add_key(a->address(), key)); });
    std::function<void()> round = [&] {
        const auto exchange = static_cast<uint64_t>(rounds);
        b->receive(b_to_a, {exchange, 0, 0}, received, [&](const base::Result<>& result) {
            EXPECT_TRUE(result);
            if (++rounds == 5) return (*loop)->stop();
            next = (*loop)->run_after(std::chrono::milliseconds(3), round);
        });
        a->send(a_to_b, {exchange, 0, 0}, sent, {});
    };
    bool late = false;
    const base::Timer deadline = (*loop)->run_after(std::chrono::seconds(20), [&] {
        late = true;
        (*loop)->stop();
    });
    next = (*loop)->run_after(std::chrono::milliseconds(3), round);
    (*loop)->run();
    EXPECT_FALSE(late) << "the loop slept through its work";
    EXPECT_EQ(rounds, 5);
    EXPECT_EQ(received, sent);
    for (TlsTransport* transport : {a.get(), b.get()}) {
        (*loop)->remove_poller(transport);
        (*loop)->unwatch(transport->event_fd());
    }
}

}  // namespace
}  // namespace pace::transports::tls
