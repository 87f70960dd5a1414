// DeviceMemory: memory of a GPU that this process has allocated, or taken over by its descriptor, and that others can map.
//
// Exported by a descriptor of the driver's virtual memory where the device can: then the memory lives as long as
// anybody maps it or holds the descriptor, also when the daemon is gone. Otherwise by an inter-process handle: then it dies with
// the process that allocated it. A trainer's own memory comes in the same two ways.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/cuda_mapping.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "daemon/device/device.h"

namespace pace::device {

// No allocation is smaller, so that no two share what a handle names.
inline constexpr size_t kAllocationStep = size_t{2} << 20U;

constexpr size_t round_up(size_t bytes, size_t step) {
    return (bytes + step - 1) / step * step;
}

class DeviceMemory {
  public:
    // Zeroed when this returns: whoever maps it knows none of our streams. Fails with `memory` if the device has not so much left.
    static base::Result<DeviceMemory> create(Device& device, size_t bytes);
    // What somebody else has created, of `bytes` at least.
    static base::Result<DeviceMemory> adopt(Device& device, base::UniqueFd descriptor,
                                            size_t bytes);
    // What another process has allocated and still has: `bytes` from `offset` on in the block that the handle names. Fails with `invalid`
    // if they are not all in it.
    static base::Result<DeviceMemory> open(Device& device, const base::cuda::CUipcMemHandle& handle,
                                           uint64_t offset, size_t bytes);
    DeviceMemory(DeviceMemory&& other) noexcept;
    DeviceMemory& operator=(DeviceMemory&& other) noexcept;
    ~DeviceMemory();

    Device& device() const { return *device_; }
    base::cuda::CUdeviceptr address() const { return address_; }
    // As it was asked for, rounded up to what the device allocates.
    size_t size() const { return size_; }
    // It goes with the process that has allocated it, which is not this one.
    bool is_lent() const { return opened_ != 0; }
    int fd() const { return descriptor_.get(); }  // -1: see handle()
    const base::cuda::CUipcMemHandle& handle() const { return handle_; }

  private:
    explicit DeviceMemory(Device& device) : device_(&device) {}

    base::Result<> clear();
    base::Result<> allocate_virtual(size_t bytes);
    base::Result<> allocate_plain(size_t bytes);
    void take(base::cuda::CudaMapping mapping);
    void release();

    Device* device_ = nullptr;  // null: moved from
    base::cuda::CUdeviceptr address_ = 0;
    base::cuda::CUdeviceptr opened_ = 0;  // the block, if it is another process's
    size_t size_ = 0;
    std::optional<base::cuda::CudaMapping> mapping_;  // none: allocated as the driver likes
    base::UniqueFd descriptor_;
    base::cuda::CUipcMemHandle handle_{};
};

}  // namespace pace::device
