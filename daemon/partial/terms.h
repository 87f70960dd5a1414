// Terms: what all calls of a job must have in common, fixed by the first one: the buffers' types and
// lengths, and whether a mean is made of the sum. A node whose workers have not called yet learns
// them from one whose have.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "daemon/collectives/layout.h"

namespace pace::partial {

struct Terms {
    collectives::Layout layout;
    bool mean = true;
    bool operator==(const Terms&) const = default;
};

// Equal terms have equal digests; never 0, which says that a node has none. Others may have the same one: it is for nodes, whose
// messages are of known sizes, and says nothing of memory here.
uint32_t digest_of(const Terms& terms);

// On the wire, little-endian, always of the same size:
//
//     | mean u32 | segments u32 | (dtype u32, 0 u32, count u64) per segment | zeros |
inline constexpr size_t kTermsSegmentsMax = protocol::kBuffersPerExchangeMax;
inline constexpr size_t kTermsBytes = 8 + 16 * kTermsSegmentsMax;

// `terms` has at most kTermsSegmentsMax segments.
std::vector<std::byte> write(const Terms& terms);
// ErrorKind::corrupt for what write() did not write.
base::Result<Terms> read_terms(std::span<const std::byte> bytes_untrusted);

}  // namespace pace::partial
