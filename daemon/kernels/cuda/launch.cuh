// launch: a stream to which kernels are given one after the other, and whose first error stays.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace pace::kernels::cuda {

// Threads of a block, for kernels that do not need another number.
inline constexpr unsigned kBlockThreads = 256;

__host__ __device__ constexpr uint64_t divide_up(uint64_t dividend, uint64_t divisor) {
    return dividend / divisor + (dividend % divisor != 0 ? 1 : 0);
}

class Queue {
  public:
    explicit Queue(void* stream) : stream_(static_cast<cudaStream_t>(stream)) {}

    // Does nothing after an error. `blocks` > 0.
    template <typename... Parameters, typename... Arguments>
    void run(void (*kernel)(Parameters...), uint64_t blocks, unsigned threads,
             Arguments&&... arguments) {
        constexpr uint64_t kBlocksMax = 0x7FFFFFFFU;  // of a grid's first dimension
        if (error_ == cudaSuccess && blocks > kBlocksMax) error_ = cudaErrorInvalidConfiguration;
        if (error_ != cudaSuccess) return;
        cudaLaunchConfig_t config = {};
        config.gridDim = dim3(static_cast<unsigned>(blocks));
        config.blockDim = dim3(threads);
        config.stream = stream_;
        error_ = cudaLaunchKernelEx(&config, kernel, std::forward<Arguments>(arguments)...);
    }

    void zero(void* memory, size_t bytes) {
        if (error_ == cudaSuccess) error_ = cudaMemsetAsync(memory, 0, bytes, stream_);
    }

    // Within the device; nothing where both are the same memory.
    void copy(void* to, const void* from, size_t bytes) {
        if (error_ == cudaSuccess && to != from)
            error_ = cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream_);
    }

    // Enough blocks of kBlockThreads to fill the device, and no more than `blocks_max`, for kernels whose blocks take
    // piece after piece.
    uint64_t blocks_to_fill(uint64_t blocks_max) {
        constexpr int kBlocksEach = 8;  // a multiprocessor holds 2048 threads at most
        int device = 0;
        int processors = 1;
        if (error_ == cudaSuccess) error_ = cudaGetDevice(&device);
        if (error_ == cudaSuccess)
            error_ = cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
        const auto blocks = static_cast<uint64_t>(processors) * kBlocksEach;
        return blocks < blocks_max ? blocks : blocks_max;
    }

    int error() const { return error_; }

  private:
    cudaStream_t stream_;
    cudaError_t error_ = cudaSuccess;
};

}  // namespace pace::kernels::cuda
