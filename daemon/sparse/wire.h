// wire: the entries of one block as bytes.
//
//     | count u32 | indices | values |        little-endian, nothing aligned
//
// indices: `plain`, 4 bytes each (the papers' format), or `elias_fano`. values: rounding.h. A block
// of given length, cut to k, takes at most coded_bytes_max() bytes, and exactly that many when it
// has k entries, which is the rule: both sides of a message know its size beforehand, and a block
// with fewer is padded with zeros.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.h"
#include "daemon/sparse/entries.h"
#include "daemon/sparse/rounding.h"

namespace pace::sparse {

enum class IndexFormat : uint8_t { plain = 1, elias_fano = 2 };

struct WireFormat {
    IndexFormat index = IndexFormat::elias_fano;
    ValueFormat value = ValueFormat::f32;
};

// What both sides know of a block: its length, and the most entries that it may have (k <= length).
struct Frame {
    size_t length = 0;
    size_t k = 0;
};

inline constexpr size_t kCountBytes = 4;

size_t coded_bytes(WireFormat format, Frame frame, size_t count);
inline size_t coded_bytes_max(WireFormat format, Frame frame) {
    return coded_bytes(format, frame, frame.k);
}

// `entries` are at most frame.k, with values that rounding does not change. `out` has at least
// coded_bytes() of them; what is left is zeroed.
void encode(WireFormat format, Frame frame, const Entries& entries, std::span<std::byte> out);

// The reverse, of bytes from outside: ErrorKind::corrupt unless they hold at most frame.k strictly
// increasing indices below frame.length, and zeros after them. Any bytes, any size.
base::Result<Entries> decode(WireFormat format, Frame frame,
                             std::span<const std::byte> bytes_untrusted);

// As decode(), with frame.k read from the bytes, which must have exactly the size that this gives,
// and be at most `k_max`: for messages of a size of their own, written with frame.k = their count.
base::Result<Entries> decode_counted(WireFormat format, size_t length, size_t k_max,
                                     std::span<const std::byte> bytes_untrusted);

// Rounds every value to what the receiver gets, drops those that become zero, and returns what is
// taken away.
Entries round_entries(Entries& entries, ValueFormat format);

}  // namespace pace::sparse
