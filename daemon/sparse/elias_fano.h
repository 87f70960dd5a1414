// Elias-Fano: n strictly increasing indices below u in about 2 + log2(u/n) bits each, near the
// least possible, with a size that depends on their number alone (P. Elias 1974, R. Fano 1971).
//
// Each index is split: its lower bits are packed one after the other; its upper part h, of index
// number i, becomes a one at bit h + i of a second string of bits. The number of lower bits follows
// from u and from `capacity`, the n that both sides expect, so that fewer indices take less.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/large_vector.h"
#include "base/result.h"

namespace pace::sparse {

// Bytes of `count` <= capacity indices.
size_t elias_fano_bytes(size_t universe, size_t capacity, size_t count);

// `out` has elias_fano_bytes(universe, capacity, indices.size()) bytes, all of which are written.
void elias_fano_encode(size_t universe, size_t capacity, std::span<const uint32_t> indices,
                       std::span<std::byte> out);

// The reverse, of bytes that nobody vouches for: ErrorKind::corrupt unless they are exactly what
// encode() writes for some `count` indices below `universe`. `bytes` has the size above.
base::Result<base::LargeVector<uint32_t>> elias_fano_decode(size_t universe, size_t capacity,
                                                            size_t count,
                                                            std::span<const std::byte> bytes);

}  // namespace pace::sparse
