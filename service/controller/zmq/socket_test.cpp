// Socket: how two real sockets behave when the peer does not read or vanishes.
#include "service/controller/zmq/socket.h"

#include <poll.h>

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace pace::control_zmq {
namespace {

constexpr size_t kBytesMax = size_t{64} << 10U;

class SocketTest : public testing::Test {
  protected:
    void SetUp() override {
        const auto context = *Context::create();
        const Socket::Queues few{.send_max = 4, .receive_max = 4};
        server_.emplace(Socket::create(context, SocketType::router, kBytesMax, few).value());
        client_.emplace(Socket::create(context, SocketType::dealer, kBytesMax, few).value());
        ASSERT_TRUE(server_->bind("tcp://127.0.0.1:0"));
        ASSERT_TRUE(client_->connect(server_->last_endpoint()));
    }
    // Waits briefly: the descriptor, which is edge-triggered, says only that something may have
    // happened.
    static void await_change(const Socket& socket) {
        pollfd changed{socket.fd(), POLLIN, 0};
        poll(&changed, 1, 20);
    }
    // The server's route to the client, which has sent a message.
    std::string route() {
        Socket::Message message;
        say_hello();
        while (in_time() && !server_->receive(message)) await_change(*server_);
        EXPECT_EQ(message.count, 2U);
        const auto& name = message.frames.at(0);
        return {reinterpret_cast<const char*>(name.data()), name.size()};
    }
    void say_hello() {
        while (in_time() && client_->send(std::as_bytes(std::span("hello"))) != Sent::done)
            await_change(*client_);
    }
    bool in_time() const { return std::chrono::steady_clock::now() < end_; }

    const std::chrono::steady_clock::time_point end_ =
        std::chrono::steady_clock::now() + std::chrono::seconds(40);
    std::optional<Socket> server_;
    std::optional<Socket> client_;
};

TEST_F(SocketTest, DisconnectsAPeerThatDoesNotRead) {
    const std::string client = route();
    const std::vector<std::byte> block(kBytesMax);
    Socket::Message nothing;
    bool was_full = false;
    Sent sent = Sent::done;
    while (sent != Sent::gone && in_time()) {
        sent = server_->send(client, block);
        was_full = was_full || sent == Sent::full;
        if (sent == Sent::full) await_change(*server_);
        // ZeroMQ forgets a peer when all of the peer's messages are received.
        EXPECT_FALSE(server_->receive(nothing));
    }
    EXPECT_TRUE(was_full) << "it must be given time";
    EXPECT_EQ(sent, Sent::gone) << "it is waited for without end";
}

// A router that is asked whether it is readable gives the frame with the route no properties.
TEST_F(SocketTest, KnowsTheSenderOfAMessageThatItSawComing) {
    Socket::Message message;
    say_hello();
    while (in_time() && !server_->readable()) await_change(*server_);
    ASSERT_TRUE(server_->receive(message));
    EXPECT_EQ(message.peer, "127.0.0.1");
    EXPECT_GE(message.descriptor, 0);
}

}  // namespace
}  // namespace pace::control_zmq
