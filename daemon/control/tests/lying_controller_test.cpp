// Lying-controller tests: how the daemon handles messages that no honest controller would send.
#include <string>

#include <gtest/gtest.h>

#include "daemon/control/tests/link_fixture.h"
#include "protocol/control_codec.h"
#include "protocol/version.h"
#include "service/controller/zmq/socket.h"

namespace pace::daemon {
namespace {

namespace wire = protocol::control;

// A controller that sends messages no honest one would.
class LyingController : public LinkFixture {
  protected:
    void SetUp() override {
        LinkFixture::SetUp();
        auto context = control_zmq::Context::create().value();
        auto socket = control_zmq::Socket::create(context, control_zmq::SocketType::router,
                                                  protocol::kToControllerBytesMax, {1000, 1000});
        ASSERT_TRUE(socket);
        socket_.emplace(std::move(*socket));
        ASSERT_TRUE(socket_->bind("tcp://127.0.0.1:0"));
        endpoint_ = socket_->last_endpoint();
        daemon_ = start_daemon("a");
    }

    // Waits for a message of the daemon, and remembers its sender.
    bool heard(wire::Body type) {
        return until([&] {
            loop_->turn(false);
            while (socket_->receive(message_)) {
                const auto& frames = message_.frames;
                route_.assign(reinterpret_cast<const char*>(frames[0].data()), frames[0].size());
                const auto* envelope = wire::GetEnvelope(frames[1].data());
                attachment_ = envelope->attachment();
                if (envelope->body_type() == type) return true;
            }
            // The loop does not watch the test's socket, so keep turning without sleeping.
            loop_->defer(scope_.callback([] {}));
            return false;
        });
    }

    template <typename Build>
    void say(Build build) {
        protocol::EnvelopeWriter writer;
        const auto body = build(writer.begin());
        ASSERT_EQ(socket_->send(route_, writer.finish(7, attachment_, body)),
                  control_zmq::Sent::done);
    }

    void say_bytes(std::span<const std::byte> bytes) {
        ASSERT_EQ(socket_->send(route_, bytes), control_zmq::Sent::done);
    }

    void attach() {
        ASSERT_TRUE(heard(wire::Body::Hello));
        say([](auto& builder) {
            return wire::CreateAttached(builder, 7, 50, 0, 0, protocol::kVersion);
        });
        ASSERT_TRUE(until([&] { return daemon_->link->attached(); }));
    }

    std::optional<control_zmq::Socket> socket_;
    control_zmq::Socket::Message message_;
    std::string route_;
    base::Scope scope_;
    uint64_t attachment_ = 0;
    std::unique_ptr<TestDaemon> daemon_;
};

TEST_F(LyingController, AVersionThatThisDaemonDoesNotSpeakAttachesNobody) {
    ASSERT_TRUE(heard(wire::Body::Hello));
    for (const uint32_t version : {uint32_t{0}, protocol::kVersion + 1})
        say([version](auto& builder) {
            return wire::CreateAttached(builder, 7, 50, 0, 0, version);
        });
    ASSERT_TRUE(until([&] { return daemon_->link->counters().malformed == 2; }));
    EXPECT_FALSE(daemon_->link->attached());
}

TEST_F(LyingController, NoiseIsCountedAndDropped) {
    attach();
    base::Random random(5);
    constexpr int kMessages = 500;
    for (int i = 0; i < kMessages; ++i) {
        std::vector<std::byte> noise(random.below(100));
        for (auto& byte : noise) byte = static_cast<std::byte>(random.below(256));
        say_bytes(noise);
    }
    ASSERT_TRUE(until([&] { return daemon_->link->counters().malformed == kMessages; }));
    EXPECT_TRUE(daemon_->link->attached());
}

TEST_F(LyingController, AMessageOfAnotherAttachmentIsIgnored) {
    attach();
    ++attachment_;
    say([](auto& builder) { return wire::CreateNotAttached(builder, true); });
    ASSERT_TRUE(until([&] { return daemon_->link->counters().stale == 1; }));
    EXPECT_TRUE(daemon_->link->attached());
}

TEST_F(LyingController, NotAttachedMeansHelloUnderANewNumber) {
    attach();
    const uint64_t old = attachment_;
    say([](auto& builder) {
        return wire::CreateNotAttached(builder, true, builder.CreateString("frozen"));
    });
    ASSERT_TRUE(heard(wire::Body::Hello));
    EXPECT_NE(attachment_, old);
    EXPECT_EQ(daemon_->exclusions, 1);
    EXPECT_EQ(daemon_->detached_because, "frozen");
}

TEST_F(LyingController, AProbeIsAnsweredAtOnce) {
    attach();
    say([](auto& builder) { return wire::CreateProbe(builder); });
    ASSERT_TRUE(heard(wire::Body::Heartbeat));
}

TEST_F(LyingController, WhatOnlyADaemonSaysIsCountedAndDropped) {
    attach();
    say([](auto& builder) { return wire::CreateReady(builder, 1, 2, 3, 4); });
    ASSERT_TRUE(until([&] { return daemon_->link->counters().malformed == 1; }));
}

TEST_F(LyingController, OrdersBeforeTheAttachmentAreIgnored) {
    ASSERT_TRUE(heard(wire::Body::Hello));
    say([](auto& builder) { return wire::CreateGroupOrder(builder, 1, 2, 3); });
    ASSERT_TRUE(until([&] { return daemon_->link->counters().stale == 1; }));
    EXPECT_TRUE(daemon_->orders.empty());
}

}  // namespace
}  // namespace pace::daemon
