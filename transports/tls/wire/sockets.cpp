#include "transports/tls/wire/sockets.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <variant>

namespace pace::transports::tls {

using base::ErrorKind;
using base::make_error;

namespace {

// A guess: peers that connect while strangers fill the line still find a place in it.
constexpr int kBacklog = 4096;
// How many bytes wait in the kernel before they are sent. A small message waits behind them.
constexpr unsigned kUnsentBytesMax = 256 * 1024;
constexpr int kKeepaliveProbes = 3;

struct SocketAddress {
    sockaddr_storage storage{};
    socklen_t size = 0;
    const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
    sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
};

SocketAddress socket_address(const IpEndpoint& endpoint) {
    SocketAddress address;
    if (endpoint.is_v6) {
        sockaddr_in6 v6{};
        v6.sin6_family = AF_INET6;
        v6.sin6_port = htons(endpoint.port);
        std::memcpy(&v6.sin6_addr, endpoint.ip.data(), sizeof(v6.sin6_addr));
        std::memcpy(&address.storage, &v6, sizeof(v6));
        address.size = sizeof(v6);
    } else {
        sockaddr_in v4{};
        v4.sin_family = AF_INET;
        v4.sin_port = htons(endpoint.port);
        std::memcpy(&v4.sin_addr, endpoint.ip.data(), sizeof(v4.sin_addr));
        std::memcpy(&address.storage, &v4, sizeof(v4));
        address.size = sizeof(v4);
    }
    return address;
}

IpEndpoint endpoint_of(const SocketAddress& address) {
    IpEndpoint endpoint;
    if (address.storage.ss_family == AF_INET6) {
        sockaddr_in6 v6{};
        std::memcpy(&v6, &address.storage, sizeof(v6));
        endpoint.is_v6 = true;
        endpoint.port = ntohs(v6.sin6_port);
        std::memcpy(endpoint.ip.data(), &v6.sin6_addr, sizeof(v6.sin6_addr));
    } else {
        sockaddr_in v4{};
        std::memcpy(&v4, &address.storage, sizeof(v4));
        endpoint.port = ntohs(v4.sin_port);
        std::memcpy(endpoint.ip.data(), &v4.sin_addr, sizeof(v4.sin_addr));
    }
    return endpoint;
}

base::UniqueFd tcp_socket(const IpEndpoint& endpoint) {
    const int family = endpoint.is_v6 ? AF_INET6 : AF_INET;
    return base::UniqueFd(socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP));
}

template <typename T>
void set(int fd, int level, int option, T value) {
    [[maybe_unused]] const int status = setsockopt(fd, level, option, &value, sizeof(value));
}

}  // namespace

base::Result<IpEndpoint> read_endpoint(const std::string& ip, uint16_t port) {
    IpEndpoint endpoint;
    endpoint.port = port;
    if (inet_pton(AF_INET, ip.c_str(), endpoint.ip.data()) == 1) return endpoint;
    endpoint.is_v6 = true;
    if (inet_pton(AF_INET6, ip.c_str(), endpoint.ip.data()) == 1) return endpoint;
    return make_error(ErrorKind::invalid,
                      "'{}' is no IP address; write one such as 192.0.2.7 or 2001:db8::7", ip);
}

std::string text_of(const IpEndpoint& endpoint) {
    std::array<char, INET6_ADDRSTRLEN> text{};
    inet_ntop(endpoint.is_v6 ? AF_INET6 : AF_INET, endpoint.ip.data(), text.data(), text.size());
    return endpoint.is_v6 ? fmt::format("[{}]:{}", text.data(), endpoint.port)
                          : fmt::format("{}:{}", text.data(), endpoint.port);
}

bool is_wildcard(const IpEndpoint& endpoint) {
    return std::all_of(endpoint.ip.begin(), endpoint.ip.end(),
                       [](std::byte byte) { return byte == std::byte{0}; });
}

base::Result<ListeningSocket> listen_on(const IpEndpoint& endpoint) {
    const auto failed = [&] {
        return base::make_errno_error(errno, fmt::format("listen on {}", text_of(endpoint)));
    };
    ListeningSocket listening{tcp_socket(endpoint), endpoint};
    const int fd = listening.fd.get();
    if (fd < 0) return failed();
    set(fd, SOL_SOCKET, SO_REUSEADDR, 1);
    if (endpoint.is_v6) set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
    SocketAddress address = socket_address(endpoint);
    if (bind(fd, address.get(), address.size) != 0) return failed();
    if (listen(fd, kBacklog) != 0) return failed();
    if (getsockname(fd, address.get(), &address.size) != 0) return failed();
    listening.endpoint = endpoint_of(address);
    return listening;
}

base::Result<base::UniqueFd> begin_connect(const IpEndpoint& endpoint) {
    base::UniqueFd fd = tcp_socket(endpoint);
    const SocketAddress address = socket_address(endpoint);
    const bool begun = fd.valid() && (connect(fd.get(), address.get(), address.size) == 0 ||
                                      errno == EINPROGRESS || errno == EINTR);
    if (!begun) {
        // An errno may have a kind of its own, and a peer that cannot be reached is unavailable.
        const int error_number = errno;
        return make_error(
            ErrorKind::unavailable, "{}",
            base::make_errno_error(error_number, fmt::format("connect to {}", text_of(endpoint)))
                .message);
    }
    return fd;
}

int outcome_of_connect(int fd) {
    int error_number = 0;
    socklen_t size = sizeof(error_number);
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error_number, &size) != 0) return errno;
    return error_number;
}

int accept_from(int listener, AcceptedSocket& accepted) {
    SocketAddress address;
    address.size = sizeof(address.storage);
    const int fd = accept4(listener, address.get(), &address.size, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) return errno;
    accepted.fd.reset(fd);
    accepted.source = endpoint_of(address);
    return 0;
}

void prepare(int fd, const SocketBounds& bounds) {
    const auto interval = static_cast<int>(bounds.keepalive_interval.count());
    set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
    set(fd, IPPROTO_TCP, TCP_KEEPIDLE, interval);
    set(fd, IPPROTO_TCP, TCP_KEEPINTVL, interval);
    set(fd, IPPROTO_TCP, TCP_KEEPCNT, kKeepaliveProbes);
    set(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<unsigned>(bounds.unmoved_max.count()));
    set(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, kUnsentBytesMax);
}

}  // namespace pace::transports::tls
