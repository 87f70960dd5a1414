// warp: 32 threads that work as one. All of them call these functions together.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace pace::kernels::cuda {

inline constexpr unsigned kWarpThreads = 32;
inline constexpr unsigned kAllLanes = 0xFFFFFFFFU;

__device__ inline unsigned lane_of_thread() {
    return threadIdx.x % kWarpThreads;
}

__device__ inline unsigned warp_of_block() {
    return threadIdx.x / kWarpThreads;
}

// Warps of a grid take pieces in turn: the first piece is that of their number, the next one so many behind it.
__device__ inline uint64_t warp_of_grid() {
    return uint64_t{blockIdx.x} * (blockDim.x / kWarpThreads) + warp_of_block();
}

__device__ inline uint64_t warps_of_grid() {
    return uint64_t{gridDim.x} * (blockDim.x / kWarpThreads);
}

// The sum of all lanes' values, in every lane.
template <typename Number>
__device__ Number warp_sum(Number value) {
    for (unsigned distance = kWarpThreads / 2; distance > 0; distance /= 2)
        value += __shfl_xor_sync(kAllLanes, value, distance);
    return value;
}

// The sum of the values of this lane and of those before it.
template <typename Number>
__device__ Number warp_sum_so_far(Number value) {
    const unsigned lane = lane_of_thread();
    for (unsigned distance = 1; distance < kWarpThreads; distance *= 2) {
        const Number before = __shfl_up_sync(kAllLanes, value, distance);
        if (lane >= distance) value += before;
    }
    return value;
}

}  // namespace pace::kernels::cuda
