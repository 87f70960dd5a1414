// NcclChoice: the NCCL version that this node uses for exchanges among GPUs, or why it uses none.
#pragma once

#include <cstdint>
#include <string>

#include "daemon/device/devices.h"

namespace pace::daemon {

struct NcclChoice {
    uint32_t version = 0;  // protocol/nccl.h; 0: none
    std::string absence;   // why there is none; empty: there is one
};

// Sets the environment variable with the interfaces on which NCCL listens: those in `networks`, as
// UCX names them (transports/network/interfaces.h), unless the variable is set. Must be called
// before NCCL is first used and before threads that read the environment exist. InfiniBand devices
// are skipped; NCCL finds these by itself.
void name_networks_for_nccl(const std::string& networks);

// `gpus` must have looked for devices. The library is loaded only if it is `wanted` and there is a
// GPU.
NcclChoice choose_nccl(bool wanted, const device::Devices& gpus);

}  // namespace pace::daemon
