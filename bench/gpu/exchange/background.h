// Background: work that keeps a GPU computing, as the kernels of a training step would.
#pragma once

#include <atomic>
#include <thread>

#include "bench/gpu/exchange/gpu.h"

namespace pace::gpu_bench {

class Background {
  public:
    // Fills memory of the GPU on a stream of its own, until this object is destroyed.
    explicit Background(int ordinal);
    ~Background();
    Background(const Background&) = delete;
    Background& operator=(const Background&) = delete;

  private:
    void fill(int ordinal) const;

    std::atomic<bool> ends_{false};
    std::thread thread_;
};

}  // namespace pace::gpu_bench
