// wire: codes the entries of one block as bytes.
//
//     | count u32 | indices | values |        little-endian, nothing aligned
//
// Indices are `plain`, with 4 bytes each (the papers' format), or `elias_fano`. rounding.h
// describes the values. A block of given length that is cut to k takes at most coded_bytes_max()
// bytes. With k entries, the usual case, it takes exactly that many. A block with fewer entries is
// padded with zeros. So both sides of a message know its size beforehand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.h"
#include "daemon/sparse/wire/entries.h"
#include "daemon/sparse/wire/rounding.h"

namespace pace::sparse {

enum class IndexFormat : uint8_t { plain = 1, elias_fano = 2 };

struct WireFormat {
    IndexFormat index = IndexFormat::elias_fano;
    ValueFormat value = ValueFormat::f32;
};

// What both sides know of a block: its length, and the greatest number of its entries (k <=
// length).
struct Frame {
    size_t length = 0;
    size_t k = 0;
};

inline constexpr size_t kCountBytes = 4;

size_t coded_bytes(WireFormat format, Frame frame, size_t count);
inline size_t coded_bytes_max(WireFormat format, Frame frame) {
    return coded_bytes(format, frame, frame.k);
}

// `entries` has at most frame.k entries. Rounding does not change their values. `out` has at least
// coded_bytes() bytes. The bytes that remain are zeroed.
void encode(WireFormat format, Frame frame, const Entries& entries, std::span<std::byte> out);

// Decodes bytes from outside. Returns ErrorKind::corrupt unless they hold at most frame.k strictly
// increasing indices below frame.length, and zeros after the entries. Accepts any bytes of any
// size.
base::Result<Entries> decode(WireFormat format, Frame frame,
                             std::span<const std::byte> bytes_untrusted);

// Does the same for messages whose frame.k was their number of entries when they were written.
// frame.k is read from the bytes and must be at most `k_max`. The bytes must have exactly the size
// that follows from it.
base::Result<Entries> decode_counted(WireFormat format, size_t length, size_t k_max,
                                     std::span<const std::byte> bytes_untrusted);

// Rounds every value to the value that the receiver gets, drops the values that become zero, and
// returns what rounding takes away.
Entries round_entries(Entries& entries, ValueFormat format);

}  // namespace pace::sparse
