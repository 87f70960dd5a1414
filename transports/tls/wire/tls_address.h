// The address of a TlsTransport: its instance, what must be equal on both sides, and the IP
// endpoints that lead to it. This file is pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "transports/transport.h"

namespace pace::transports::tls {

// Random, so that no two instances have the same.
using InstanceId = std::array<std::byte, 16>;

struct IpEndpoint {
    bool is_v6 = false;
    // In network byte order. An IPv4 address has the first four bytes.
    std::array<std::byte, 16> ip{};
    uint16_t port = 0;
    bool operator==(const IpEndpoint&) const = default;

    size_t ip_bytes() const { return is_v6 ? 16 : 4; }
};

inline constexpr size_t kEndpointsMax = 32;

struct TlsAddress {
    InstanceId instance{};
    // How far ahead of this instance a sender of eager messages may be, in bytes.
    uint64_t eager_window = 0;
    uint32_t segment_bytes = 0;
    // At least one, and at most kEndpointsMax.
    std::vector<IpEndpoint> endpoints;
    bool operator==(const TlsAddress&) const = default;
};

Address encode_address(const TlsAddress& address);

// Fails with ErrorKind::version for the address of another transport or version, and with
// ErrorKind::corrupt for a damaged one.
base::Result<TlsAddress> parse_address(std::span<const std::byte> address_untrusted);

}  // namespace pace::transports::tls
