// Pieces of the contents of several buffers. Elements are counted over all of the buffers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

namespace pace::client {

// Calls each(part, begin, end) for the elements [first, first + count) of `parts`. Every part has a
// `count`. Returns how many elements there were.
template <typename Part, typename Each>
uint64_t for_piece(std::span<const Part> parts, uint64_t first, uint64_t count, Each each) {
    uint64_t at = 0;
    uint64_t done = 0;
    for (const Part& part : parts) {
        const uint64_t begin = std::max(at, first);
        const uint64_t end = std::min(at + part.count, first + count);
        if (begin < end) {
            each(part, begin - at, end - at);
            done += end - begin;
        }
        at += part.count;
    }
    return done;
}

}  // namespace pace::client
