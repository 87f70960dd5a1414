// The digest of an address, which detects accidental damage. Addresses travel on the authenticated
// control plane, which protects them from malicious changes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace pace::transports {

// FNV-1a.
inline uint64_t digest_of(std::span<const std::byte> bytes) {
    uint64_t digest = 0xCBF2'9CE4'8422'2325U;
    for (const std::byte byte : bytes)
        digest = (digest ^ static_cast<uint64_t>(byte)) * 0x100'0000'01B3U;
    return digest;
}

}  // namespace pace::transports
