#include "transports/tls/wire/tls_address.h"

#include <algorithm>

#include "transports/digest.h"
#include "transports/tls/wire/little_endian.h"

namespace pace::transports::tls {

using base::ErrorKind;
using base::make_error;

namespace {

// "PaceTLS" and the version of addresses and frames.
constexpr uint64_t kMagic = 0x5061'6365'544C'5301U;

constexpr size_t kInstanceAt = 8;
constexpr size_t kWindowAt = 24;
constexpr size_t kSegmentAt = 32;
constexpr size_t kCountAt = 36;
constexpr size_t kHeadBytes = 37;
constexpr size_t kDigestBytes = 8;

// An endpoint begins with the version of IP, 4 or 6.
constexpr uint8_t kV4 = 4;
constexpr uint8_t kV6 = 6;

base::Error damaged(std::span<const std::byte> address) {
    return make_error(ErrorKind::corrupt, "{} bytes that are no TLS transport's address",
                      address.size());
}

void append(Address& address, const IpEndpoint& endpoint) {
    address.push_back(std::byte{endpoint.is_v6 ? kV6 : kV4});
    std::array<std::byte, 2> port{};
    put_little(std::span<std::byte>(port), endpoint.port);
    address.insert(address.end(), port.begin(), port.end());
    address.insert(address.end(), endpoint.ip.begin(),
                   endpoint.ip.begin() + static_cast<std::ptrdiff_t>(endpoint.ip_bytes()));
}

// Takes an endpoint from the begin of `rest`. Returns false if there is none.
bool take_endpoint(std::span<const std::byte>& rest, IpEndpoint& endpoint) {
    constexpr size_t kIpAt = 3;
    if (rest.size() < kIpAt) return false;
    const auto version = std::to_integer<uint8_t>(rest[0]);
    if (version != kV4 && version != kV6) return false;
    endpoint.is_v6 = version == kV6;
    endpoint.port = get_little<uint16_t>(rest.subspan(1));
    rest = rest.subspan(kIpAt);
    if (rest.size() < endpoint.ip_bytes() || endpoint.port == 0) return false;
    std::copy_n(rest.begin(), endpoint.ip_bytes(), endpoint.ip.begin());
    rest = rest.subspan(endpoint.ip_bytes());
    return true;
}

}  // namespace

Address encode_address(const TlsAddress& address) {
    Address bytes(kHeadBytes);
    const std::span<std::byte> head(bytes);
    put_little(head, kMagic);
    std::copy(address.instance.begin(), address.instance.end(), bytes.begin() + kInstanceAt);
    put_little(head.subspan(kWindowAt), address.eager_window);
    put_little(head.subspan(kSegmentAt), address.segment_bytes);
    head[kCountAt] = static_cast<std::byte>(address.endpoints.size());
    for (const IpEndpoint& endpoint : address.endpoints) append(bytes, endpoint);
    std::array<std::byte, kDigestBytes> digest{};
    put_little(std::span<std::byte>(digest), digest_of(bytes));
    bytes.insert(bytes.end(), digest.begin(), digest.end());
    return bytes;
}

base::Result<TlsAddress> parse_address(std::span<const std::byte> address_untrusted) {
    const auto all = address_untrusted;
    if (all.size() < kHeadBytes + kDigestBytes || all.size() > kAddressBytesMax)
        return damaged(all);
    if (const auto magic = get_little<uint64_t>(all); magic != kMagic)
        return make_error(
            ErrorKind::version,
            "the address begins with {:016x}, this build understands {:016x}; run the same version "
            "of Pace with the same data plane on all nodes",
            magic, kMagic);
    const auto body = all.first(all.size() - kDigestBytes);
    if (get_little<uint64_t>(all.last(kDigestBytes)) != digest_of(body)) return damaged(all);
    TlsAddress address;
    std::copy_n(body.begin() + kInstanceAt, address.instance.size(), address.instance.begin());
    address.eager_window = get_little<uint64_t>(body.subspan(kWindowAt));
    address.segment_bytes = get_little<uint32_t>(body.subspan(kSegmentAt));
    const auto count = std::to_integer<size_t>(body[kCountAt]);
    if (count == 0 || count > kEndpointsMax) return damaged(all);
    auto rest = body.subspan(kHeadBytes);
    address.endpoints.resize(count);
    for (IpEndpoint& endpoint : address.endpoints)
        if (!take_endpoint(rest, endpoint)) return damaged(all);
    if (!rest.empty()) return damaged(all);
    return address;
}

}  // namespace pace::transports::tls
