// Gpu: a GPU with a context that is current in the thread that opened it.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/cuda/cuda_driver.h"

namespace pace::gpu_bench {

using Clock = std::chrono::steady_clock;

// Ends the process if there is no driver.
const base::cuda::CudaDriver& driver();

// Ends the process if a call of the driver has failed.
void must(base::cuda::CUresult result, const char* what);

// Ends the process, as skipped, if there are fewer GPUs.
void need_gpus(uint32_t wanted);

class Gpu {
  public:
    explicit Gpu(int ordinal);
    ~Gpu();
    Gpu(const Gpu&) = delete;
    Gpu& operator=(const Gpu&) = delete;

    static base::cuda::CUstream stream();
    std::string name() const;

  private:
    base::cuda::CUdevice device_ = 0;
    base::cuda::CUcontext context_ = nullptr;
};

double seconds_since(Clock::time_point start);

// Prints the median, the least and the greatest, and the bytes a second.
void print(const std::string& what, std::vector<double> seconds, double bytes);

}  // namespace pace::gpu_bench
