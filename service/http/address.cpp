#include "service/http/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>

namespace pace::http {

using base::ErrorKind;
using base::make_error;
using base::Result;

namespace {

// The number of connections that the kernel keeps until the loop accepts them.
constexpr int kBacklog = 64;

sockaddr_in ipv4_of(const Address& address) {
    sockaddr_in ipv4{};
    std::memcpy(&ipv4, &address.bytes, sizeof ipv4);
    return ipv4;
}

sockaddr_in6 ipv6_of(const Address& address) {
    sockaddr_in6 ipv6{};
    std::memcpy(&ipv6, &address.bytes, sizeof ipv6);
    return ipv6;
}

template <typename Kind>
Address address_from(const Kind& kind) {
    Address address;
    std::memcpy(&address.bytes, &kind, sizeof kind);
    address.length = sizeof kind;
    return address;
}

std::optional<uint16_t> port_of(std::string_view text) {
    uint16_t port = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), port);
    if (failed != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return port;
}

}  // namespace

bool Address::is_loopback() const {
    if (bytes.ss_family == AF_INET) return ntohl(ipv4_of(*this).sin_addr.s_addr) >> 24U == 127;
    const in6_addr ipv6 = ipv6_of(*this).sin6_addr;
    return IN6_IS_ADDR_LOOPBACK(&ipv6);
}

std::string Address::text() const {
    std::array<char, INET6_ADDRSTRLEN> host{};
    if (bytes.ss_family == AF_INET) {
        const sockaddr_in ipv4 = ipv4_of(*this);
        inet_ntop(AF_INET, &ipv4.sin_addr, host.data(), host.size());
        return fmt::format("{}:{}", host.data(), ntohs(ipv4.sin_port));
    }
    const sockaddr_in6 ipv6 = ipv6_of(*this);
    inet_ntop(AF_INET6, &ipv6.sin6_addr, host.data(), host.size());
    return fmt::format("[{}]:{}", host.data(), ntohs(ipv6.sin6_port));
}

Result<Address> parse_address(std::string_view text) {
    const size_t colon = text.rfind(':');
    const auto port =
        colon == std::string_view::npos ? std::nullopt : port_of(text.substr(colon + 1));
    std::string host(text.substr(0, std::min(colon, text.size())));
    const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
    if (bracketed) host = host.substr(1, host.size() - 2);
    if (host == "localhost") host = "127.0.0.1";
    sockaddr_in ipv4{};
    if (port && !bracketed && inet_pton(AF_INET, host.c_str(), &ipv4.sin_addr) == 1) {
        ipv4.sin_family = AF_INET;
        ipv4.sin_port = htons(*port);
        return address_from(ipv4);
    }
    sockaddr_in6 ipv6{};
    if (port && bracketed && inet_pton(AF_INET6, host.c_str(), &ipv6.sin6_addr) == 1) {
        ipv6.sin6_family = AF_INET6;
        ipv6.sin6_port = htons(*port);
        return address_from(ipv6);
    }
    return make_error(ErrorKind::invalid,
                      "http_listen \"{}\" is no address with a port; give a numeric one, for "
                      "example 127.0.0.1:7412 or [::1]:7412",
                      text);
}

Result<base::UniqueFd> listen_at(const Address& address) {
    base::UniqueFd fd(
        socket(address.bytes.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP));
    if (!fd.valid()) return base::make_errno_error(errno, "create a socket for http_listen");
    const int yes = 1;
    setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    const auto* name = reinterpret_cast<const sockaddr*>(&address.bytes);
    if (bind(fd.get(), name, address.length) == 0 && listen(fd.get(), kBacklog) == 0) return fd;
    if (errno == EADDRINUSE)
        return make_error(ErrorKind::taken,
                          "http_listen {} is in use by another process; stop it, or choose "
                          "another port (0 takes a free one)",
                          address.text());
    return base::make_errno_error(errno, fmt::format("listen at http_listen {}", address.text()));
}

Result<Address> address_of(int socket) {
    Address address;
    address.length = sizeof address.bytes;
    if (getsockname(socket, reinterpret_cast<sockaddr*>(&address.bytes), &address.length) != 0)
        return base::make_errno_error(errno, "ask a socket for its port");
    return address;
}

}  // namespace pace::http
