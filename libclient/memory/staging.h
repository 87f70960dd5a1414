// Staging: the daemon cannot map the trainer's own memory. Such memory takes part in calls through
// a copy that the daemon can map.
//
//     call:     shared = outside        in steps, as the given elements become ready
//     collect:  outside = shared        piece by piece, as far as the collector's time allows;
//                                       only if there is a result
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.h"

namespace pace::client {

// One part of a call.
struct StagedPart {
    uint64_t count = 0;
    size_t element_bytes = 0;
    // The trainer's memory. Null means that the buffer is not staged, and nothing is copied.
    std::byte* outside = nullptr;
    std::byte* shared = nullptr;
};

// copy_in and copy_out copy elements [first, first + count), counted over all parts. Each returns
// how many elements there were.
uint64_t copy_in(std::span<const StagedPart> parts, uint64_t first, uint64_t count);
uint64_t copy_out(std::span<const StagedPart> parts, uint64_t first, uint64_t count);

// Whether this process may read and write all of these bytes now, by the kernel's list of its
// mappings.
bool is_writable(const void* begin, uint64_t bytes);

}  // namespace pace::client
