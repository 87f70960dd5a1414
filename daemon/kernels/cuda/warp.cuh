// warp: operations of 32 threads that run as one. All 32 threads must call these functions
// together.
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

// The warps of a grid take pieces in turn. A warp's first piece has the warp's number. Each next
// piece is warps_of_grid() pieces later.
__device__ inline uint64_t warp_of_grid() {
    return uint64_t{blockIdx.x} * (blockDim.x / kWarpThreads) + warp_of_block();
}

__device__ inline uint64_t warps_of_grid() {
    return uint64_t{gridDim.x} * (blockDim.x / kWarpThreads);
}

// Returns the sum of all lanes' values, in every lane.
template <typename Number>
__device__ Number warp_sum(Number value) {
    for (unsigned distance = kWarpThreads / 2; distance > 0; distance /= 2)
        value += __shfl_xor_sync(kAllLanes, value, distance);
    return value;
}

// Returns the sum of the values of this lane and of the lanes before it.
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
