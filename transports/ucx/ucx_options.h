// UcxOptions: the options of the data plane that an operator may choose.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace pace::transports {

struct UcxOptions {
    // The interfaces to listen on and to send from, as UCX names them, comma-separated.
    // resolve_devices() makes this text from names, addresses and subnets. The default is loopback
    // alone.
    std::string net_devices = "lo";

    // The UCX transports, comma-separated. This project measures and tests TCP. With any other
    // transport, UCX 1.13 needs a handshake of its own between endpoints. A peer that is lost in
    // the midst of the handshake can abort the process (see ucx_outbox.h).
    std::string tls = "tcp";

    // How long a silent connection may stay unproven. A peer whose process ends is noticed at once.
    // A host that vanishes is noticed after about four intervals. TCP counts in seconds.
    std::chrono::seconds keepalive_interval{1};

    // How long a connection may hold bytes that the peer's host does not take or acknowledge, and
    // how long connecting may take. The peer is lost after this time. Without this bound, TCP would
    // take a quarter of an hour to report the loss. After a cut of the network TCP would wait as
    // long again as the cut lasted.
    std::chrono::milliseconds unmoved_max{2000};

    // Messages up to this size are sent at once and copied where they arrive. Larger messages are
    // offered first and stay at the sender until they are matched.
    size_t eager_bytes_max = size_t{16} * 1024;

    // Large messages move in segments of this size. All nodes of a cluster must use the same size.
    // connect() checks this.
    size_t segment_bytes = size_t{256} * 1024;

    // The bound on the kept bytes of one peer's messages that nobody has asked for yet. Peers are
    // told the bound and respect it: they offer messages that would exceed half of the bound. A
    // peer that does not respect the bound is lost.
    size_t unexpected_bytes_max = size_t{16} * 1024 * 1024;
};

}  // namespace pace::transports
