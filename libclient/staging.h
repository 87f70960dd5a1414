// Staging: memory of the trainer's own that the daemon cannot map takes part through a copy that it can.
//
//     call:     shared = outside        what is given in steps, as it becomes ready
//     collect:  outside = shared        a piece at a time, as far as the collector's time allows; only if there is a result
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.h"

namespace pace::client {

// Of one part of a call.
struct StagedPart {
    uint64_t count = 0;
    size_t element_bytes = 0;
    std::byte* outside = nullptr;  // null: the buffer is not staged, and nothing is copied
    std::byte* shared = nullptr;
};

// Elements [first, first + count), counted over all parts. Each returns how many there were.
uint64_t copy_in(std::span<const StagedPart> parts, uint64_t first, uint64_t count);
uint64_t copy_out(std::span<const StagedPart> parts, uint64_t first, uint64_t count);

// Whether this process may read and write all of these bytes now, by the kernel's list of its mappings.
bool is_writable(const void* begin, uint64_t bytes);

}  // namespace pace::client
