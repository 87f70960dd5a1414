// chosen: finds which elements an exchange chose from its dense result. Almost always the chosen
// elements are those that are not zero. But a chosen element may be zero: values cancelled each
// other exactly, or the scale or the result's type turned a small value into zero. These hidden
// elements are listed apart. The list goes wherever the result goes (Report::hidden) and is mostly
// empty:
//
//     | count u64 | that many indices among all elements, elias_fano |       little-endian
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/memory/large_vector.h"
#include "base/result.h"
#include "daemon/sparse/wire/entries.h"
#include "daemon/sparse/wire/packed.h"

namespace pace::sparse {

inline constexpr size_t kHiddenHeaderBytes = 8;

// Encodes the hidden elements of `chosen`. The values are scaled by `scale` for a result that is
// laid out as `packed`.
std::vector<std::byte> encode_hidden(const Entries& chosen, double scale, const Packed& packed);

// Returns the size of the whole list, given its first kHiddenHeaderBytes. `count` is the number of
// all elements. Returns ErrorKind::corrupt if no list among `count` elements begins with these
// bytes.
base::Result<size_t> hidden_bytes(size_t count, std::span<const std::byte> header_untrusted);

// The greatest size of a list among `count` elements.
size_t hidden_bytes_max(size_t count);

// Returns all chosen indices. An index is a place among the packed elements. `result` is
// packed.layout().bytes() long and is read in one pass. Returns ErrorKind::corrupt unless
// encode_hidden() writes the given list for this result.
base::Result<base::LargeVector<uint32_t>> chosen_indices(
    const Packed& packed, std::span<const std::byte> result,
    std::span<const std::byte> hidden_untrusted);

}  // namespace pace::sparse
