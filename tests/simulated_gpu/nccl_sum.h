// The arithmetic of the simulated NCCL.
#pragma once

#include <cstddef>
#include <vector>

#include "daemon/device/nccl_library.h"

namespace pace::simulated_gpu {

// Bytes of an element; 0: it sums none such.
size_t size_of(device::ncclDataType_t type);

// total += share. Half types are rounded after each addition, as where NCCL's ranks hand on what they have summed.
void add_share(device::ncclDataType_t type, std::vector<std::byte>& total,
               const std::vector<std::byte>& share);

}  // namespace pace::simulated_gpu
