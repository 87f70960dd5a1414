// TCP sockets by IP address: to listen, to connect, and what is set on a connection. No call
// blocks.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "transports/tls/wire/tls_address.h"

namespace pace::transports::tls {

// Reads an IPv4 or IPv6 address without a name. Fails with ErrorKind::invalid.
base::Result<IpEndpoint> read_endpoint(const std::string& ip, uint16_t port);

// "127.0.0.1:80" or "[::1]:80".
std::string text_of(const IpEndpoint& endpoint);

// Whether the address means all addresses of the host.
bool is_wildcard(const IpEndpoint& endpoint);

struct ListeningSocket {
    base::UniqueFd fd;
    IpEndpoint endpoint;  // with the port that was chosen
};
base::Result<ListeningSocket> listen_on(const IpEndpoint& endpoint);

// Begins to connect. The socket becomes writable when the attempt has ended.
base::Result<base::UniqueFd> begin_connect(const IpEndpoint& endpoint);

// Returns how the attempt to connect has ended: 0 or an errno.
int outcome_of_connect(int fd);

// Returns errno of an accept that failed, and leaves `accepted` alone. EAGAIN: nobody waits.
struct AcceptedSocket {
    base::UniqueFd fd;
    IpEndpoint source;
};
int accept_from(int listener, AcceptedSocket& accepted);

struct SocketBounds {
    std::chrono::seconds keepalive_interval{};
    std::chrono::milliseconds unmoved_max{};
};
// Sets the bounds, and that small messages are sent at once. A setting that the kernel refuses
// leaves a connection that works as well as it can.
void prepare(int fd, const SocketBounds& bounds);

}  // namespace pace::transports::tls
