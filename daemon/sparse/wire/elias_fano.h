// Elias-Fano: codes n strictly increasing indices below u in about 2 + log2(u/n) bits each (P.
// Elias 1974, R. Fano 1971). The size is near the least possible and depends only on the number of
// indices.
//
// Each index is split. The lower bits of all indices are packed one after the other. The upper part
// h of index number i becomes a one at bit h + i of a second string of bits. The number of lower
// bits follows from u and from `capacity`. `capacity` is the n that both sides expect, so fewer
// indices take fewer bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/memory/large_vector.h"
#include "base/result.h"

namespace pace::sparse {

// The number of bytes for `count` <= capacity indices.
size_t elias_fano_bytes(size_t universe, size_t capacity, size_t count);

// `out` has elias_fano_bytes(universe, capacity, indices.size()) bytes. All of them are written.
void elias_fano_encode(size_t universe, size_t capacity, std::span<const uint32_t> indices,
                       std::span<std::byte> out);

// Decodes untrusted bytes. Returns ErrorKind::corrupt unless `bytes` are exactly what encode()
// writes for `count` indices below `universe`. `bytes` has elias_fano_bytes(universe, capacity,
// count) bytes.
base::Result<base::LargeVector<uint32_t>> elias_fano_decode(size_t universe, size_t capacity,
                                                            size_t count,
                                                            std::span<const std::byte> bytes);

}  // namespace pace::sparse
