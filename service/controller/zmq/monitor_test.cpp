// Monitor: its reports on two real sockets that fail to connect.
#include "service/controller/zmq/monitor.h"

#include <poll.h>

#include <chrono>
#include <filesystem>
#include <span>
#include <string>

#include <gtest/gtest.h>

#include "service/controller/zmq/curve_keys.h"
#include "service/controller/zmq/socket.h"

namespace pace::control_zmq {
namespace {

using Kind = ConnectionEvent::Kind;

class MonitorTest : public testing::Test {
  protected:
    void SetUp() override {
        std::string pattern = std::filesystem::temp_directory_path() / "pace-monitor-XXXXXX";
        folder_ = mkdtemp(pattern.data());
        for (const char* name : {"server", "client", "other"})
            ASSERT_TRUE(generate_key_pair(folder_ + "/" + name));
        context_ = *Context::create();
        server_.emplace(Socket::create(context_, SocketType::router, 1024, {10, 10}).value());
        client_.emplace(Socket::create(context_, SocketType::dealer, 1024, {10, 10}).value());
        ASSERT_TRUE(server_->watch_connections());
        ASSERT_TRUE(client_->watch_connections());
    }
    void TearDown() override {
        client_.reset();
        server_.reset();
        std::filesystem::remove_all(folder_);
    }

    SecretKey secret(const std::string& name) const {
        return *SecretKey::read(folder_ + "/" + name + ".secret");
    }
    void meet() {
        ASSERT_TRUE(server_->bind("tcp://127.0.0.1:0"));
        ASSERT_TRUE(client_->connect(server_->last_endpoint()));
    }
    // The socket's first event beyond `accepted` and `connected`.
    Kind outcome(Socket& of) {
        const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        while (std::chrono::steady_clock::now() < until) {
            const auto event = of.monitor()->next();
            if (!event) {
                pollfd changed{of.monitor()->fd(), POLLIN, 0};
                poll(&changed, 1, 20);
                continue;
            }
            if (!event->peer.empty()) peer_ = event->peer;
            if (event->kind != Kind::accepted && event->kind != Kind::connected) return event->kind;
        }
        ADD_FAILURE() << "nothing happened";
        return Kind::connected;
    }

    std::string folder_;
    std::shared_ptr<Context> context_;
    std::optional<Socket> server_;
    std::optional<Socket> client_;
    std::string peer_;
};

TEST_F(MonitorTest, TellsThatTwoHaveGreetedEachOther) {
    meet();
    EXPECT_EQ(outcome(*client_), Kind::greeted);
    EXPECT_EQ(outcome(*server_), Kind::greeted);
    EXPECT_EQ(peer_, "127.0.0.1");
}

TEST_F(MonitorTest, TellsThatOnlyTheServerHasKeys) {
    ASSERT_TRUE(server_->serve_curve(secret("server")));
    meet();
    EXPECT_EQ(outcome(*server_), Kind::mechanism);
    EXPECT_EQ(outcome(*client_), Kind::mechanism);
}

TEST_F(MonitorTest, TellsThatOnlyTheClientHasKeys) {
    ASSERT_TRUE(client_->use_curve(secret("server").public_key(), secret("client")));
    meet();
    EXPECT_EQ(outcome(*client_), Kind::mechanism);
    EXPECT_EQ(outcome(*server_), Kind::mechanism);
}

TEST_F(MonitorTest, TellsThatTheClientExpectsAnotherServer) {
    ASSERT_TRUE(server_->serve_curve(secret("server")));
    ASSERT_TRUE(client_->use_curve(secret("other").public_key(), secret("client")));
    meet();
    EXPECT_EQ(outcome(*server_), Kind::key);
    EXPECT_EQ(outcome(*client_), Kind::broken_off);
}

TEST_F(MonitorTest, TellsWhoLeftWithoutAWord) {
    meet();
    EXPECT_EQ(outcome(*server_), Kind::greeted);
    client_.reset();
    peer_.clear();
    EXPECT_EQ(outcome(*server_), Kind::left);
    EXPECT_EQ(peer_, "127.0.0.1");
}

TEST_F(MonitorTest, TellsNothingOfTheEndOfOneThatWasHeard) {
    meet();
    EXPECT_EQ(outcome(*server_), Kind::greeted);
    const auto in_time = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    const auto await_change = [&](const Socket& socket) {
        pollfd changed{socket.fd(), POLLIN, 0};
        poll(&changed, 1, 20);
        return std::chrono::steady_clock::now() < in_time;
    };
    while (client_->send(std::as_bytes(std::span("hello"))) != Sent::done && await_change(*client_))
        continue;
    Socket::Message message;
    while (!server_->receive(message) && await_change(*server_)) continue;
    server_->monitor()->heard(message.descriptor);
    client_.reset();
    client_.emplace(Socket::create(context_, SocketType::dealer, 1024, {10, 10}).value());
    ASSERT_TRUE(client_->connect(server_->last_endpoint()));
    EXPECT_EQ(outcome(*server_), Kind::greeted) << "the next";
}

// Earlier connections stay, and one that leaves makes room.
TEST_F(MonitorTest, ShutsOutWhoIsOneTooMany) {
    server_->monitor()->set_connections_max(1);
    meet();
    EXPECT_EQ(outcome(*server_), Kind::greeted);
    const auto connect = [this] {
        auto socket = Socket::create(context_, SocketType::dealer, 1024, {10, 10}).value();
        EXPECT_TRUE(socket.connect(server_->last_endpoint()));
        return socket;
    };
    {
        const Socket other = connect();
        EXPECT_EQ(outcome(*server_), Kind::too_many);
    }
    EXPECT_NE(client_->send(std::as_bytes(std::span("still here"))), Sent::gone);
    client_.reset();
    const auto in_time = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    const Socket next = connect();
    // ZeroMQ reconnects until it is accepted.
    Kind kind = Kind::too_many;
    while (kind != Kind::greeted && std::chrono::steady_clock::now() < in_time)
        kind = outcome(*server_);
    EXPECT_EQ(kind, Kind::greeted);
}

}  // namespace
}  // namespace pace::control_zmq
