#include "daemon/exchange/ways/gpu_scratch.h"

#include <utility>

namespace pace::daemon {

using base::Result;
using base::Task;
using device::DeviceMemory;

Task<Result<std::shared_ptr<DeviceMemory>>> gpu_scratch(Running& running, device::Device& gpu,
                                                        size_t bytes) {
    GpuGroups& groups = running.services.gpu_groups;
    if (auto spare = groups.spare_scratch(gpu, bytes)) co_return spare;
    Result<DeviceMemory> made = base::make_error(base::ErrorKind::internal, "");
    co_await running.in_pool([&] { made = DeviceMemory::create(gpu, bytes); });
    if (!made) co_return made.error();
    co_return groups.keep_scratch(std::move(*made));
}

}  // namespace pace::daemon
