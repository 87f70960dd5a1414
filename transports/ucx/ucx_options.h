// UcxOptions: what an operator may choose about the data plane.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace pace::transports {

struct UcxOptions {
    // Interfaces to listen on and to send from, as UCX names them, comma-separated; resolve_devices()
    // makes this from a name, an address or a subnet. Loopback alone unless asked.
    std::string net_devices = "lo";

    // UCX transports, comma-separated. TCP is the one that this project measures and tests. With any
    // other, UCX 1.13 needs a handshake of its own between endpoints, and a peer that is lost in the
    // midst of it can abort the process (see ucx_outbox.h).
    std::string tls = "tcp";

    // How long a silent connection may stay unproven. A peer whose process ends is noticed at once; this is for
    // a host that vanishes, which is noticed after about four intervals. TCP counts in seconds.
    std::chrono::seconds keepalive_interval{1};

    // How long a connection may hold bytes that the peer's host does not take or acknowledge, and how long connecting may
    // take. Then the peer is lost: without this, TCP would take a quarter of an hour to say so, and after a cut of the
    // network would wait as long again as that lasted.
    std::chrono::milliseconds unmoved_max{2000};

    // Messages up to this size are sent at once and copied where they arrive; larger ones are offered first and
    // stay at the sender until they are matched.
    size_t eager_bytes_max = size_t{16} * 1024;

    // Large messages move in segments of this size. All nodes of a cluster must agree; connect() checks.
    size_t segment_bytes = size_t{256} * 1024;

    // Bound on what is kept of one peer's messages before they are asked for. Peers respect it: they
    // are told, and offer what exceeds half of it. One that does not is lost.
    size_t unexpected_bytes_max = size_t{16} * 1024 * 1024;
};

}  // namespace pace::transports
