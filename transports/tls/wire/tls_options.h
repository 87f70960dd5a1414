// TlsOptions: the options of the encrypted data plane that an operator may choose.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace pace::transports {

struct TlsOptions {
    // Where to listen: addresses of this host, without names. Port 0 means any port. The
    // instance's address tells the port that was chosen.
    struct Listen {
        std::string ip = "127.0.0.1";
        uint16_t port = 0;
    };
    std::vector<Listen> listen = {Listen{}};

    // How long a silent connection may stay unproven. A peer whose process ends is noticed at once.
    // A host that vanishes is noticed after about four intervals. TCP counts in seconds.
    std::chrono::seconds keepalive_interval{1};

    // How long a connection may hold bytes that the peer's host does not take or acknowledge, and
    // how long connecting may take. The peer is lost after this time.
    std::chrono::milliseconds unmoved_max{2000};

    // How long a peer may lack a key, at this node or at its own. The peer is lost after this time,
    // counted from the first operation that needs the connection.
    std::chrono::milliseconds key_wait_max{5000};

    // Messages up to this size are sent at once and copied where they arrive. Larger messages are
    // offered first and stay at the sender until they are matched.
    size_t eager_bytes_max = size_t{16} * 1024;

    // Large messages move in segments of this size. Small messages go between segments. All nodes
    // of a cluster must use the same size. connect() checks this.
    size_t segment_bytes = size_t{256} * 1024;

    // The bound on the kept bytes of one peer's messages that nobody has asked for yet. Peers are
    // told the bound and respect it: they offer messages that would exceed half of the bound. A
    // peer that does not respect the bound is lost.
    size_t unexpected_bytes_max = size_t{16} * 1024 * 1024;

    // Connections that have not proven who they are. Their number is bounded, in all and from one
    // source (an IPv4 address or an IPv6 network of 64 bits). So is the time that each of them has.
    size_t strangers_max = 256;
    size_t strangers_of_source_max = 64;
    std::chrono::milliseconds handshake_max{2000};

    // After so many bytes a connection gets fresh keys. TLS recommends fewer than 2^24.5 records of
    // 16 KiB for one AES-GCM key (RFC 8446, 5.5).
    uint64_t bytes_of_one_key_max = uint64_t{1} << 36U;
};

}  // namespace pace::transports
