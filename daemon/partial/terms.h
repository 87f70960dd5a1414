// Terms: what all calls of a job must have in common. The first call fixes them: the buffers' types
// and lengths, and whether the sum becomes a mean. A node whose workers have not called yet learns
// the terms from a node whose workers have called.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "daemon/collectives/layout/layout.h"

namespace pace::partial {

struct Terms {
    collectives::Layout layout;
    bool mean = true;
    bool operator==(const Terms&) const = default;
};

// Equal terms have equal digests. A digest is never 0, because 0 says that a node has no terms.
// Different terms may have the same digest. A digest serves for messages between nodes, whose sizes
// are known. It says nothing about memory on this node.
uint32_t digest_of(const Terms& terms);

// On the wire, little-endian, always of the same size:
//
//     | mean u32 | segments u32 | (dtype u32, 0 u32, count u64) per segment | zeros |
inline constexpr size_t kTermsSegmentsMax = protocol::kBuffersPerExchangeMax;
inline constexpr size_t kTermsBytes = 8 + 16 * kTermsSegmentsMax;

// `terms` must have at most kTermsSegmentsMax segments.
std::vector<std::byte> write(const Terms& terms);
// Returns ErrorKind::corrupt for bytes that write() did not write.
base::Result<Terms> read_terms(std::span<const std::byte> bytes_untrusted);

}  // namespace pace::partial
