// gpu_scratch: memory on a GPU for what an exchange makes there.
#pragma once

#include <memory>

#include "base/loop/task.h"
#include "base/result.h"
#include "daemon/exchange/run/running.h"
#include "daemon/gpu/gpu_groups.h"

namespace pace::daemon {

// At least `bytes` with undefined contents: memory that GpuGroups keeps and nobody uses now, or
// else new memory, which the pool allocates meanwhile. Error: memory.
base::Task<base::Result<std::shared_ptr<device::DeviceMemory>>> gpu_scratch(Running& running,
                                                                            device::Device& gpu,
                                                                            size_t bytes);

}  // namespace pace::daemon
