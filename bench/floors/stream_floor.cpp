// stream_floor.cpp: the goodput of one TCP flow, the floor of every exchange between nodes.
//
//     stream_floor receive ADDRESS SECONDS    prints "port N", and at the end the bytes a second
//     stream_floor send ADDRESS PORT          until the receiver has enough
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

// Bytes that fill the queues on the way and the first round trips do not show the rate.
constexpr double kRampSeconds = 0.3;
constexpr size_t kChunkBytes = size_t{256} << 10;

[[noreturn]] void fail(const char* what) {
    std::perror(what);
    std::exit(1);
}

sockaddr_in address_of(const char* host, uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    if (inet_pton(AF_INET, host, &address.sin_addr) != 1) fail(host);
    return address;
}

int receive(const char* host, double seconds) {
    sockaddr_in address = address_of(host, 0);
    socklen_t length = sizeof(address);
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener < 0 || bind(listener, generic, length) != 0 || listen(listener, 1) != 0 ||
        getsockname(listener, generic, &length) != 0) {
        fail("listen");
    }
    std::printf("port %u\n", static_cast<unsigned>(ntohs(address.sin_port)));
    std::fflush(stdout);
    const int flow = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (flow < 0) fail("accept");

    std::vector<char> chunk(kChunkBytes);
    const Clock::time_point start = Clock::now();
    Clock::time_point counted_from{};
    uint64_t bytes = 0;
    for (bool counting = false;;) {
        const ssize_t got = recv(flow, chunk.data(), chunk.size(), 0);
        if (got <= 0) fail("recv");
        const Clock::time_point now = Clock::now();
        if (!counting) {
            counting = std::chrono::duration<double>(now - start).count() >= kRampSeconds;
            counted_from = now;
            continue;
        }
        bytes += static_cast<uint64_t>(got);
        const double elapsed = std::chrono::duration<double>(now - counted_from).count();
        if (elapsed < seconds) continue;
        std::printf("%.0f\n", static_cast<double>(bytes) / elapsed);
        return 0;
    }
}

int send_until_closed(const char* host, const char* port) {
    sockaddr_in address = address_of(host, static_cast<uint16_t>(std::strtoul(port, nullptr, 10)));
    const int flow = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (flow < 0 || connect(flow, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
        fail("connect");
    }
    signal(SIGPIPE, SIG_IGN);
    const std::vector<char> chunk(kChunkBytes);
    while (send(flow, chunk.data(), chunk.size(), 0) > 0) {
    }
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc == 4 && std::string_view(argv[1]) == "receive") {
        return receive(argv[2], std::strtod(argv[3], nullptr));
    }
    if (argc == 4 && std::string_view(argv[1]) == "send") {
        return send_until_closed(argv[2], argv[3]);
    }
    std::fprintf(stderr, "usage: %s receive ADDRESS SECONDS | send ADDRESS PORT\n", argv[0]);
    return 2;
}
