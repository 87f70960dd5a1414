// launch: a stream on which kernels are queued one after the other. The stream keeps its first
// error.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace pace::kernels::cuda {

// The number of threads of a block, for kernels that need no other number.
inline constexpr unsigned kBlockThreads = 256;

__host__ __device__ constexpr uint64_t divide_up(uint64_t dividend, uint64_t divisor) {
    return dividend / divisor + (dividend % divisor != 0 ? 1 : 0);
}

// Every kernel that the plug-in launches. An entry makes itself known when the plug-in is opened.
struct LaunchedKernel {
    explicit LaunchedKernel(const void* kernel) : address(kernel), next(first) { first = this; }

    const void* address;
    const LaunchedKernel* next;
    inline static const LaunchedKernel* first = nullptr;
};

template <auto kKernel>
struct Launched {
    inline static const LaunchedKernel entry{reinterpret_cast<const void*>(kKernel)};
};

class Queue {
  public:
    explicit Queue(void* stream) : stream_(static_cast<cudaStream_t>(stream)) {}

    // Does nothing after an error. `blocks` must be greater than 0.
    template <auto kKernel, typename... Arguments>
    void run(uint64_t blocks, unsigned threads, Arguments&&... arguments) {
        (void)&Launched<kKernel>::entry;
        // The limit of a grid's first dimension.
        constexpr uint64_t kBlocksMax = 0x7FFFFFFFU;
        if (error_ == cudaSuccess && blocks > kBlocksMax) error_ = cudaErrorInvalidConfiguration;
        if (error_ != cudaSuccess) return;
        cudaLaunchConfig_t config = {};
        config.gridDim = dim3(static_cast<unsigned>(blocks));
        config.blockDim = dim3(threads);
        config.stream = stream_;
        error_ = cudaLaunchKernelEx(&config, kKernel, std::forward<Arguments>(arguments)...);
    }

    void zero(void* memory, size_t bytes) {
        if (error_ == cudaSuccess) error_ = cudaMemsetAsync(memory, 0, bytes, stream_);
    }

    // Copies within the device. Does nothing if both addresses are equal.
    void copy(void* to, const void* from, size_t bytes) {
        if (error_ == cudaSuccess && to != from)
            error_ = cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream_);
    }

    // Returns enough blocks of kBlockThreads to fill the device, but at most `blocks_max`. It
    // serves kernels whose blocks take piece after piece.
    uint64_t blocks_to_fill(uint64_t blocks_max) {
        constexpr int kBlocksEach = 8;  // a multiprocessor holds at most 2048 threads
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
