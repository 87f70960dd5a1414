#include "daemon/runtime/exchange_number.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <array>
#include <cstddef>
#include <new>
#include <span>

namespace pace::daemon {

namespace {

// The first 64 bits of HMAC-SHA-256 (RFC 2104), little-endian as all of Pace's formats.
uint64_t keyed_hash(uint64_t key, std::span<const uint64_t> values) {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    const std::array<uint64_t, 1> keys{key};
    const auto bytes = std::as_bytes(values);
    if (HMAC(EVP_sha256(), keys.data(), sizeof(keys),
             reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), digest.data(),
             nullptr) == nullptr)
        throw std::bad_alloc();  // its only failure with these arguments
    uint64_t number = 0;
    for (size_t i = 0; i < sizeof(number); ++i) number |= uint64_t{digest[i]} << (8 * i);
    return number;
}

}  // namespace

uint64_t exchange_number(uint64_t token, ExchangeKind kind, uint64_t first, uint64_t second) {
    return keyed_hash(token, std::array{static_cast<uint64_t>(kind), first, second});
}

uint64_t part_number(uint64_t number, uint64_t part) {
    return keyed_hash(number, std::array{part});
}

}  // namespace pace::daemon
