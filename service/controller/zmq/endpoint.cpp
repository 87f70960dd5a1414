#include "service/controller/zmq/endpoint.h"

#include <arpa/inet.h>

#include <charconv>

namespace pace::control_zmq {

namespace {

constexpr std::string_view kTcp = "tcp://";

}  // namespace

base::Result<TcpEndpoint> parse_tcp(std::string_view endpoint) {
    if (!endpoint.starts_with(kTcp))
        return base::make_error(base::ErrorKind::invalid, "{} is no tcp://ADDRESS:PORT", endpoint);
    const std::string_view rest = endpoint.substr(kTcp.size());
    const size_t colon = rest.rfind(':');
    if (colon == std::string_view::npos || colon == 0)
        return base::make_error(base::ErrorKind::invalid,
                                "{} has no port; write tcp://ADDRESS:PORT, port 0 for any",
                                endpoint);
    TcpEndpoint parsed{std::string(rest.substr(0, colon)), std::string(rest.substr(colon + 1))};
    uint32_t port = 0;
    const char* end = parsed.port.data() + parsed.port.size();
    const auto [last, error] = std::from_chars(parsed.port.data(), end, port);
    if (error != std::errc() || last != end || port > 65535)
        return base::make_error(base::ErrorKind::invalid, "the port of {} is not 0 to 65535",
                                endpoint);
    if (parsed.host.size() > 2 && parsed.host.front() == '[' && parsed.host.back() == ']')
        parsed.host = parsed.host.substr(1, parsed.host.size() - 2);
    if (parsed.host == "localhost") parsed.host = "127.0.0.1";
    return parsed;
}

Reach reach_of(const std::string& host) {
    if (host == "*") return Reach::every_interface;
    in_addr v4{};
    if (inet_pton(AF_INET, host.c_str(), &v4) == 1) {
        const uint32_t address = ntohl(v4.s_addr);
        if (address == 0) return Reach::every_interface;
        return (address >> 24U) == 127 ? Reach::loopback : Reach::network;
    }
    in6_addr v6{};
    if (inet_pton(AF_INET6, host.c_str(), &v6) == 1) {
        if (IN6_IS_ADDR_UNSPECIFIED(&v6)) return Reach::every_interface;
        if (IN6_IS_ADDR_V4MAPPED(&v6)) {
            if (v6.s6_addr[12] == 127) return Reach::loopback;
            return v6.s6_addr[12] == 0 ? Reach::every_interface : Reach::network;
        }
        return IN6_IS_ADDR_LOOPBACK(&v6) ? Reach::loopback : Reach::network;
    }
    return Reach::unknown;
}

bool is_off_loopback(std::string_view endpoint) {
    if (!endpoint.starts_with(kTcp)) return false;
    const auto parsed = parse_tcp(endpoint);
    return parsed && reach_of(parsed->host) != Reach::loopback;
}

}  // namespace pace::control_zmq
