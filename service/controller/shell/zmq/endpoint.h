// Where an endpoint leads, by its text alone. Pure: resolves no name.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace pace::control_zmq {

struct TcpEndpoint {
    std::string host;  // an IPv6 address without its brackets; "localhost" as its address
    std::string port;
};

// Of "tcp://HOST:PORT". Fails with invalid.
base::Result<TcpEndpoint> parse_tcp(std::string_view endpoint);

// unknown: the host is a name.
enum class Reach { loopback, network, every_interface, unknown };
Reach reach_of(const std::string& host);

// It is a tcp:// endpoint, and nothing says that it is on this machine.
bool is_off_loopback(std::string_view endpoint);

}  // namespace pace::control_zmq
