#include "tests/cluster/harness/cable.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include <gtest/gtest.h>

namespace pace::cluster {

namespace {

sockaddr_in loopback(uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

base::UniqueFd tcp_socket() {
    return base::UniqueFd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
}

// Moves the bytes that have arrived at one end to the other. Returns false if either end has ended.
bool move_bytes(int from, int to) {
    std::array<char, 65536> bytes{};
    const ssize_t got = recv(from, bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got <= 0) return false;
    for (ssize_t sent = 0; sent < got;) {
        const ssize_t now =
            send(to, bytes.data() + sent, static_cast<size_t>(got - sent), MSG_NOSIGNAL);
        if (now <= 0) return false;
        sent += now;
    }
    return true;
}

}  // namespace

Cable::Cable(uint16_t target)
    : target_(target), listener_(tcp_socket()), wakeup_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    sockaddr_in address = loopback(0);
    socklen_t size = sizeof(address);
    auto* any = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(bind(listener_.get(), any, size), 0);
    EXPECT_EQ(listen(listener_.get(), SOMAXCONN), 0);
    EXPECT_EQ(getsockname(listener_.get(), any, &size), 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { run(); });
}

Cable::~Cable() {
    ended_ = true;
    set_passing(false);
    thread_.join();
}

void Cable::set_passing(bool passing) {
    passing_ = passing;
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(wakeup_.get(), &one, sizeof(one));
}

void Cable::run() {
    while (!ended_) {
        std::vector<pollfd> watched{{wakeup_.get(), POLLIN, 0}};
        if (passing_) {
            watched.push_back({listener_.get(), POLLIN, 0});
            for (const Wire& wire : wires_) {
                watched.push_back({wire.first.get(), POLLIN, 0});
                watched.push_back({wire.second.get(), POLLIN, 0});
            }
        }
        if (poll(watched.data(), watched.size(), -1) < 0) return;
        uint64_t count = 0;
        [[maybe_unused]] const ssize_t got = read(wakeup_.get(), &count, sizeof(count));
        if (watched.size() == 1) continue;
        size_t next = 2;
        std::erase_if(wires_, [&](const Wire& wire) {
            const bool first = watched[next].revents != 0;
            const bool second = watched[next + 1].revents != 0;
            next += 2;
            return !forward(wire, first, second);
        });
        if (watched[1].revents != 0) accept_one();
    }
}

bool Cable::forward(const Wire& wire, bool first, bool second) const {
    if (first && !move_bytes(wire.first.get(), wire.second.get())) return false;
    return !second || move_bytes(wire.second.get(), wire.first.get());
}

void Cable::accept_one() {
    Wire wire{base::UniqueFd(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC)),
              tcp_socket()};
    const sockaddr_in address = loopback(target_);
    const auto* any = reinterpret_cast<const sockaddr*>(&address);
    // If nobody listens at the target, the connecting end sees its connection closed, as without a
    // cable.
    if (wire.first.valid() && connect(wire.second.get(), any, sizeof(address)) == 0)
        wires_.push_back(std::move(wire));
}

}  // namespace pace::cluster
