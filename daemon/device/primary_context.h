// PrimaryContext: a share in the context that a process has on a GPU. The driver makes the context
// with the first share, which takes it up to seconds, and ends it with the last.
#pragma once

#include <string>
#include <utility>

#include "base/cuda/cuda_driver.h"
#include "base/result.h"

namespace pace::device {

class PrimaryContext {
  public:
    // Threads: any. Blocks while the driver makes the context.
    static base::Result<PrimaryContext> retain(const base::cuda::CudaDriver& driver, int ordinal,
                                               const std::string& id) {
        base::cuda::CUdevice device = 0;
        PACE_TRY(driver.check(driver.device_get(&device, ordinal), "look at a GPU"));
        base::cuda::CUcontext context = nullptr;
        PACE_TRY(driver.check(driver.primary_context_retain(&context, device), "open " + id));
        return PrimaryContext(driver, device, context);
    }
    PrimaryContext(PrimaryContext&& other) noexcept
        : driver_(other.driver_),
          device_(other.device_),
          context_(std::exchange(other.context_, nullptr)) {}
    PrimaryContext& operator=(PrimaryContext&& other) noexcept {
        std::swap(driver_, other.driver_);
        std::swap(device_, other.device_);
        std::swap(context_, other.context_);
        return *this;
    }
    ~PrimaryContext() {
        if (context_ != nullptr) (void)driver_->primary_context_release(device_);
    }

    base::cuda::ContextScope enter() const { return {*driver_, context_}; }

  private:
    PrimaryContext(const base::cuda::CudaDriver& driver, base::cuda::CUdevice device,
                   base::cuda::CUcontext context)
        : driver_(&driver), device_(device), context_(context) {}

    const base::cuda::CudaDriver* driver_;
    base::cuda::CUdevice device_;
    base::cuda::CUcontext context_;
};

}  // namespace pace::device
