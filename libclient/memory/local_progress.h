// Local progress: a copy of the buffers is averaged while the trainer goes on with the buffers
// themselves (pace_average_options.keep_local).
//
//     call:     copy = snapshot = data     the daemon averages the copy, the trainer changes data
//     collect:  data += copy - snapshot    piece by piece, as far as the collector's time allows
//
// An element that the trainer has not changed meanwhile becomes exactly the average.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "protocol/types.h"

namespace pace::client {

struct KeptBuffer {
    protocol::DType type = protocol::DType::f32;
    uint64_t count = 0;
    std::byte* data = nullptr;
    std::byte* copy = nullptr;
    std::byte* snapshot = nullptr;
};

void take_copy(const KeptBuffer& buffer);

// Adds the change to elements [begin, end). Half types are added in f32 and rounded once.
void add_change(const KeptBuffer& buffer, uint64_t begin, uint64_t end);

// Adds the change to up to `count` elements from `first` on, counted over all of the buffers.
// Returns how many elements there were.
uint64_t add_change(std::span<const KeptBuffer> buffers, uint64_t first, uint64_t count);

}  // namespace pace::client
