// NcclChoice: which NCCL this node uses where GPUs exchange, or why none.
#pragma once

#include <cstdint>
#include <string>

#include "daemon/device/devices.h"

namespace pace::daemon {

struct NcclChoice {
    uint32_t version = 0;  // protocol/nccl.h; 0: none
    std::string absence;   // why none; empty: there is one
};

// The environment from which NCCL takes the interfaces that it listens on: those of `networks`, as UCX names them
// (transports/ucx/devices.h), unless the environment says something. Before NCCL is first used, and before there are threads that
// read the environment. Of InfiniBand devices, which NCCL finds by itself, it says nothing.
void name_networks_for_nccl(const std::string& networks);

// `gpus` has looked. The library is loaded only if it is of use: not without a GPU, nor if it is not `wanted`.
NcclChoice choose_nccl(bool wanted, const device::Devices& gpus);

}  // namespace pace::daemon
