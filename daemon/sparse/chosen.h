// chosen: which elements an exchange chose, told from its dense result. Almost always these are the
// ones that are not zero. A chosen one may be zero, though: values cancelled each other exactly, or
// the scale or the result's type made nothing of little. Such hidden ones are told apart, in a list
// that goes wherever the result goes (Report::hidden) and is mostly empty:
//
//     | count u64 | that many indices among all elements, elias_fano |       little-endian
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/large_vector.h"
#include "base/result.h"
#include "daemon/sparse/entries.h"
#include "daemon/sparse/packed.h"

namespace pace::sparse {

inline constexpr size_t kHiddenHeaderBytes = 8;

// The list of `chosen`, whose values are scaled by `scale` for a result laid out as `packed`.
std::vector<std::byte> encode_hidden(const Entries& chosen, double scale, const Packed& packed);

// The whole list's size by its first kHiddenHeaderBytes; `count` is the number of all elements.
// ErrorKind::corrupt if no list among so many begins with them.
base::Result<size_t> hidden_bytes(size_t count, std::span<const std::byte> header_untrusted);

// No list among so many is longer.
size_t hidden_bytes_max(size_t count);

// All chosen indices, of packed elements. `result` is packed.layout().bytes() long; one pass over
// it. ErrorKind::corrupt unless the list is one that encode_hidden() writes for this result.
base::Result<base::LargeVector<uint32_t>> chosen_indices(
    const Packed& packed, std::span<const std::byte> result,
    std::span<const std::byte> hidden_untrusted);

}  // namespace pace::sparse
