// Endpoint: the destination of an endpoint, from its text alone. Pure: resolves no name.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace pace::control_zmq {

struct TcpEndpoint {
    std::string host;  // IPv6 without brackets; "localhost" as its address
    std::string port;
};

// Parses "tcp://HOST:PORT". Fails with invalid.
base::Result<TcpEndpoint> parse_tcp(std::string_view endpoint);

// unknown: the host is a name.
enum class Reach { loopback, network, every_interface, unknown };
Reach reach_of(const std::string& host);

// Whether this is a tcp:// endpoint whose text does not show that it is on this machine.
bool is_off_loopback(std::string_view endpoint);

}  // namespace pace::control_zmq
