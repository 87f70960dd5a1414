// The arithmetic of the simulated NCCL.
#pragma once

#include <cstddef>
#include <vector>

#include "daemon/device/nccl/nccl_library.h"

namespace pace::simulated_gpu {

// Returns the bytes of an element. 0 means that elements of this type are not summed.
size_t size_of(device::ncclDataType_t type);

// Computes total += share. Half types are rounded after each addition, as in NCCL, where ranks hand
// on their partial sums.
void add_share(device::ncclDataType_t type, std::vector<std::byte>& total,
               const std::vector<std::byte>& share);

}  // namespace pace::simulated_gpu
