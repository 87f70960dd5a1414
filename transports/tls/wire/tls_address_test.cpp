#include "transports/tls/wire/tls_address.h"

#include <gtest/gtest.h>

#include "transports/digest.h"
#include "transports/tls/wire/little_endian.h"
#include "transports/tls/wire/sockets.h"

namespace pace::transports::tls {
namespace {

TlsAddress example() {
    TlsAddress address;
    address.instance.fill(std::byte{5});
    address.eager_window = 123'456'789'012;
    address.segment_bytes = 262'144;
    address.endpoints = {*read_endpoint("192.0.2.7", 4711), *read_endpoint("2001:db8::7", 4712)};
    return address;
}

// Makes the digest right again.
void repair(Address& bytes) {
    const auto body = std::span(bytes).first(bytes.size() - 8);
    put_little(std::span(bytes).last(8), digest_of(body));
}

TEST(TlsAddress, IsReadAsItWasWritten) {
    const Address bytes = encode_address(example());
    EXPECT_LE(bytes.size(), kAddressBytesMax);
    const auto parsed = parse_address(bytes);
    ASSERT_TRUE(parsed) << parsed.error().message;
    EXPECT_EQ(*parsed, example());
    EXPECT_EQ(text_of(parsed->endpoints[0]), "192.0.2.7:4711");
    EXPECT_EQ(text_of(parsed->endpoints[1]), "[2001:db8::7]:4712");
}

TEST(TlsAddress, WithTheMostEndpointsFits) {
    TlsAddress address = example();
    address.endpoints.assign(kEndpointsMax, address.endpoints[1]);
    const Address bytes = encode_address(address);
    EXPECT_LE(bytes.size(), kAddressBytesMax);
    EXPECT_TRUE(parse_address(bytes));
    address.endpoints.push_back(address.endpoints[0]);
    EXPECT_FALSE(parse_address(encode_address(address)));
}

TEST(TlsAddress, ThatIsDamagedOrCutIsRefused) {
    const Address bytes = encode_address(example());
    for (size_t size = 0; size < bytes.size(); ++size)
        EXPECT_FALSE(parse_address(std::span(bytes).first(size))) << size;
    for (size_t at = 0; at < bytes.size(); ++at) {
        Address damaged = bytes;
        damaged[at] ^= std::byte{1};
        EXPECT_FALSE(parse_address(damaged)) << at;
        // A liar repairs the digest. Whatever is parsed then is in bounds.
        repair(damaged);
        const auto parsed = parse_address(damaged);
        EXPECT_TRUE(!parsed || encode_address(*parsed) == damaged) << at;
    }
}

TEST(TlsAddress, OfAnotherKindSaysSo) {
    Address bytes = encode_address(example());
    bytes[0] ^= std::byte{1};
    const auto parsed = parse_address(bytes);
    ASSERT_FALSE(parsed);
    EXPECT_EQ(parsed.error().kind, base::ErrorKind::version);
}

TEST(TlsAddress, HasNoEndpointWithoutPort) {
    TlsAddress address = example();
    address.endpoints[0].port = 0;
    EXPECT_FALSE(parse_address(encode_address(address)));
    address.endpoints.clear();
    EXPECT_FALSE(parse_address(encode_address(address)));
}

TEST(IpEndpoint, IsReadFromLiteralsOnly) {
    EXPECT_FALSE(read_endpoint("localhost", 1));
    EXPECT_FALSE(read_endpoint("", 1));
    EXPECT_FALSE(read_endpoint("192.0.2.7:1", 1));
    EXPECT_FALSE(read_endpoint("300.0.0.1", 1));
    EXPECT_TRUE(is_wildcard(*read_endpoint("0.0.0.0", 1)));
    EXPECT_TRUE(is_wildcard(*read_endpoint("::", 1)));
    EXPECT_FALSE(is_wildcard(*read_endpoint("::1", 1)));
}

}  // namespace
}  // namespace pace::transports::tls
