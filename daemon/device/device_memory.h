// DeviceMemory: GPU memory that this process has allocated, or adopted by its descriptor, and that
// other processes can map: an allocation of its own, or a place in a block (device_block.h).
//
// If the device supports it, memory is exported by a descriptor of the driver's virtual memory. The
// memory then lives as long as a process maps it or holds the descriptor, even after the daemon.
// Otherwise it is exported by an inter-process handle, and dies with the process that allocated it.
// A trainer's own memory comes in the same two ways.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/cuda/cuda_mapping.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "daemon/device/device.h"

namespace pace::device {

// The smallest allocation, so that no two allocations share the block that a handle names.
inline constexpr size_t kAllocationStep = size_t{2} << 20U;

constexpr size_t round_up(size_t bytes, size_t step) {
    return (bytes + step - 1) / step * step;
}

class DeviceBlock;

class DeviceMemory {
  public:
    // Allocates memory and zeroes it before this returns, since a process that maps it knows none
    // of our streams. Error: memory, if the device has too little left. Threads: any. Blocks for
    // milliseconds, and for longer while memory that the device was given back (Device::release) is
    // not free yet.
    static base::Result<DeviceMemory> create(Device& device, size_t bytes);
    // Maps memory that another process has created, of at least `bytes`.
    static base::Result<DeviceMemory> adopt(Device& device, base::UniqueFd descriptor,
                                            size_t bytes);
    // Maps `bytes` from `offset` on in the block that `handle` names. Another process has allocated
    // the block and still holds it. Error: invalid, if the range is not within the block.
    static base::Result<DeviceMemory> open(Device& device, const base::cuda::CUipcMemHandle& handle,
                                           uint64_t offset, size_t bytes);
    DeviceMemory(DeviceMemory&& other) noexcept;
    DeviceMemory& operator=(DeviceMemory&& other) noexcept;
    ~DeviceMemory();

    // The last owner does not wait until the driver has the memory back.
    static std::shared_ptr<DeviceMemory> share(DeviceMemory memory);

    Device& device() const { return *device_; }
    base::cuda::CUdeviceptr address() const { return address_; }
    // The requested size. That of an allocation is rounded up to the device's allocation step.
    size_t size() const { return size_; }
    // Whether another process has allocated the memory, with which it goes.
    bool is_lent() const { return opened_ != 0; }
    int fd() const { return descriptor_.get(); }  // -1: see handle()
    const base::cuda::CUipcMemHandle& handle() const { return handle_; }

    // Null: the memory is an allocation of its own. Memory in a block has no descriptor.
    const std::shared_ptr<DeviceBlock>& block() const { return block_; }
    // Where the memory begins in its block.
    uint64_t offset() const;
    // Other memory may lie here from now on: nothing uses this memory any more. No call of the
    // driver. Threads: any.
    void leave_place();
    // Nothing else will ever lie here, since another process goes on using the place.
    void keep_place() { keeps_place_ = true; }

    // Zeroes the memory. Blocks until that is done, some microseconds for a small buffer. Threads:
    // any.
    base::Result<> clear();

  private:
    friend class DeviceBlock;
    explicit DeviceMemory(Device& device) : device_(&device) {}
    DeviceMemory(std::shared_ptr<DeviceBlock> block, uint64_t offset, size_t bytes);

    static base::Result<DeviceMemory> try_create(Device& device, size_t bytes);
    base::Result<> allocate_virtual(size_t bytes);
    base::Result<> allocate_plain(size_t bytes);
    void take(base::cuda::CudaMapping mapping);
    void release();

    Device* device_ = nullptr;  // null: moved from
    base::cuda::CUdeviceptr address_ = 0;
    // Start of the block, if it is another process's.
    base::cuda::CUdeviceptr opened_ = 0;
    size_t size_ = 0;
    // None if the memory comes from the driver's plain allocator.
    std::optional<base::cuda::CudaMapping> mapping_;
    base::UniqueFd descriptor_;
    base::cuda::CUipcMemHandle handle_{};
    std::shared_ptr<DeviceBlock> block_;
    bool has_place_ = false;
    bool keeps_place_ = false;
};

}  // namespace pace::device
