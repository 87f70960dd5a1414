// Gpu: the first GPU of the process, its context current, with what the facts need of it.
#pragma once

#include <chrono>
#include <optional>
#include <thread>

#include "base/cuda/cuda_driver.h"
#include "base/result.h"

namespace pace::gpu_probe {

using Clock = std::chrono::steady_clock;

class Gpu {
  public:
    static base::Result<Gpu> open() {
        const auto& driver = base::cuda::CudaDriver::get();
        if (!driver) return driver.error();
        Gpu gpu(**driver);
        PACE_TRY(gpu.check(gpu.driver_.device_get(&gpu.device_, 0), "look at a GPU"));
        PACE_TRY(gpu.check(gpu.driver_.primary_context_retain(&gpu.context_, gpu.device_),
                           "open a GPU"));
        PACE_TRY(gpu.check(gpu.driver_.context_push(gpu.context_), "use a GPU"));
        return gpu;
    }

    const base::cuda::CudaDriver& driver() const { return driver_; }
    base::cuda::CUdevice device() const { return device_; }
    base::cuda::CUcontext context() const { return context_; }
    base::Result<> check(base::cuda::CUresult result, const char* what) const {
        return driver_.check(result, what);
    }

    base::Result<base::cuda::CUstream> stream() const {
        base::cuda::CUstream made = nullptr;
        PACE_TRY(
            check(driver_.stream_create(&made, base::cuda::kStreamNonBlocking), "make a stream"));
        return made;
    }
    base::Result<base::cuda::CUevent> event(unsigned flags = 0) const {
        base::cuda::CUevent made = nullptr;
        PACE_TRY(check(driver_.event_create(&made, base::cuda::kEventDisableTiming | flags),
                       "make an event"));
        return made;
    }
    base::Result<base::cuda::CUevent> mark(base::cuda::CUstream stream) const {
        PACE_TRY_ASSIGN(made, event());
        PACE_TRY(check(driver_.event_record(made, stream), "record an event"));
        return made;
    }
    // How long it takes until the event has come, in milliseconds; empty: longer than `most`.
    std::optional<double> await(base::cuda::CUevent event, std::chrono::milliseconds most) const {
        const Clock::time_point began = Clock::now();
        while (driver_.event_query(event) == base::cuda::kNotReady) {
            if (Clock::now() - began > most) return std::nullopt;
            std::this_thread::yield();
        }
        return std::chrono::duration<double, std::milli>(Clock::now() - began).count();
    }

  private:
    explicit Gpu(const base::cuda::CudaDriver& driver) : driver_(driver) {}

    const base::cuda::CudaDriver& driver_;
    base::cuda::CUdevice device_ = 0;
    base::cuda::CUcontext context_ = nullptr;
};

}  // namespace pace::gpu_probe
