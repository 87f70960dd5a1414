// Local progress: a copy of buffers is averaged while the trainer goes on with the buffers themselves
// (pace_average_options.keep_local).
//
//     call:     copy = snapshot = data        the daemon averages the copy, the trainer changes the data
//     collect:  data += copy - snapshot
//
// An element that the trainer has not changed meanwhile becomes exactly the average.
#pragma once

#include <cstddef>
#include <cstdint>

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

// Half types are added in f32, and rounded once.
void add_change(const KeptBuffer& buffer);

}  // namespace pace::client
