// Worker: a trainer's session with a buffer on a GPU, or on the host, and its exchanges.
#pragma once

#include <cstdint>
#include <vector>

#include "bench/gpu/exchange/gpu.h"
#include "bench/gpu/exchange/options.h"
#include "pace.h"

namespace pace::gpu_bench {

class Worker {
  public:
    // Joins the job `gpu-exchange`. Ends the process if that fails.
    Worker(const Options& options, uint32_t rank);
    ~Worker();
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;

    // The result of a top-k sum is no gradient. So the buffer gets another gradient, outside of the
    // measured time.
    void prepare();
    // Returns when the stream has the result.
    void exchange();

  private:
    void make_gradient(uint64_t bytes, uint32_t rank);

    bool on_host_;
    int32_t ordinal_;
    std::vector<float> gradient_;
    base::cuda::CUdeviceptr on_gpu_ = 0;
    void* data_ = nullptr;
    Gpu gpu_;
    base::cuda::CUstream stream_ = Gpu::stream();
    pace_session* session_ = nullptr;
    pace_buffer buffer_{};
    pace_error error_{};
};

}  // namespace pace::gpu_bench
