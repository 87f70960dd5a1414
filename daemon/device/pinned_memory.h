// PinnedMemory: host memory that a device copies from and to directly, while this object lives.
#pragma once

#include <cstddef>
#include <utility>

#include "base/result.h"
#include "daemon/device/device.h"

namespace pace::device {

class PinnedMemory {
  public:
    // `memory` must outlive the returned object.
    static base::Result<PinnedMemory> pin(Device& device, void* memory, size_t bytes) {
        const auto scope = device.enter();
        PACE_TRY(device.driver().check(
            device.driver().mem_host_register(memory, bytes, base::cuda::kRegisterPortable),
            "pin memory for a GPU"));
        return PinnedMemory(device, memory);
    }
    PinnedMemory(PinnedMemory&& other) noexcept
        : device_(other.device_), memory_(std::exchange(other.memory_, nullptr)) {}
    PinnedMemory& operator=(PinnedMemory&& other) noexcept {
        std::swap(device_, other.device_);
        std::swap(memory_, other.memory_);
        return *this;
    }
    ~PinnedMemory() {
        if (memory_ == nullptr) return;
        const auto scope = device_->enter();
        (void)device_->driver().mem_host_unregister(memory_);
    }

    Device& device() const { return *device_; }

  private:
    PinnedMemory(Device& device, void* memory) : device_(&device), memory_(memory) {}

    Device* device_;
    void* memory_;
};

}  // namespace pace::device
