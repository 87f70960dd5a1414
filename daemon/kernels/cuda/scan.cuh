// scan: prefix sums over a block's threads and over an array.
#pragma once

#include <cstdint>

#include "daemon/kernels/cuda/launch.cuh"
#include "daemon/kernels/cuda/warp.cuh"

namespace pace::kernels::cuda {

// The number of threads of the single block that runs between two passes.
inline constexpr unsigned kScanThreads = 1024;

// Every warp of the block passes one number, which is the same in all its lanes. Returns the sum of
// the numbers of the preceding warps. `ret_total` becomes the sum of all numbers. All threads of
// the block must call this function together.
template <typename Number>
__device__ Number sum_before_warp(Number number, Number& ret_total) {
    __shared__ Number numbers[kWarpThreads];
    const unsigned lane = lane_of_thread();
    const unsigned warp = warp_of_block();
    const unsigned warps = blockDim.x / kWarpThreads;
    if (lane == 0) numbers[warp] = number;
    __syncthreads();
    const Number so_far = warp_sum_so_far(lane < warps ? numbers[lane] : Number{0});
    __syncthreads();  // before another call writes there
    ret_total = __shfl_sync(kAllLanes, so_far, kWarpThreads - 1);
    const Number with_own = __shfl_sync(kAllLanes, so_far, warp);
    return with_own - number;
}

// Does the same with one number per thread.
template <typename Number>
__device__ Number sum_before_thread(Number number, Number& ret_total) {
    const Number in_warp = warp_sum_so_far(number);
    const Number of_warp = __shfl_sync(kAllLanes, in_warp, kWarpThreads - 1);
    return sum_before_warp(of_warp, ret_total) + in_warp - number;
}

// Replaces every element of an array in device memory by the sum of the elements before it. Returns
// the sum of all elements. Runs in one block of kScanThreads. Each warp handles its own stretch of
// the array, some elements per lane at a time.
__device__ inline uint64_t make_sums_before(uint64_t* numbers, uint64_t count) {
    constexpr unsigned kEach = 4;
    constexpr unsigned kStep = kEach * kWarpThreads;
    constexpr unsigned kWarps = kScanThreads / kWarpThreads;
    const unsigned lane = lane_of_thread();
    const uint64_t stretch = divide_up(count, uint64_t{kWarps} * kStep) * kStep;
    const uint64_t begin = min(count, warp_of_block() * stretch);
    const uint64_t end = min(count, begin + stretch);

    uint64_t own = 0;
#pragma unroll 8
    for (uint64_t i = begin + lane; i < end; i += kWarpThreads) own += numbers[i];
    uint64_t all = 0;
    uint64_t before = sum_before_warp(warp_sum(own), all);
    for (uint64_t first = begin; first < end; first += kStep) {
        const uint64_t mine = first + lane * kEach;
        uint64_t number[kEach];
        uint64_t sum = 0;
#pragma unroll
        for (unsigned i = 0; i < kEach; ++i) {
            number[i] = mine + i < end ? numbers[mine + i] : 0;
            sum += number[i];
        }
        const uint64_t so_far = warp_sum_so_far(sum);
        uint64_t before_mine = before + so_far - sum;
#pragma unroll
        for (unsigned i = 0; i < kEach; ++i) {
            if (mine + i < end) numbers[mine + i] = before_mine;
            before_mine += number[i];
        }
        before += __shfl_sync(kAllLanes, so_far, kWarpThreads - 1);
    }
    return all;
}

}  // namespace pace::kernels::cuda
