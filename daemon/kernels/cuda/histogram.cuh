// histogram: counts the elements by one digit of their key, and finds the digit value that contains
// the element of a given rank.
//
// A block counts in shared memory, in four interleaved tables, so that lanes with the same value
// conflict less. At the end the block adds its counts to the table in device memory once.
#pragma once

#include <cstdint>

#include "daemon/kernels/cuda/scan.cuh"
#include "daemon/kernels/cuda/selection.cuh"
#include "daemon/kernels/cuda/tile.cuh"

namespace pace::kernels::cuda {

inline constexpr unsigned kTables = 4;
using Tables = uint32_t[kDigitValuesMax * kTables];

__device__ inline void clear_tables(Tables& tables) {
    for (unsigned i = threadIdx.x; i < kDigitValuesMax * kTables; i += blockDim.x) tables[i] = 0;
    __syncthreads();
}

__device__ inline void count_value(Tables& tables, uint32_t value, unsigned lane) {
    atomicAdd(&tables[value * kTables + lane % kTables], 1U);
}

__device__ inline void add_tables(const Tables& tables, uint32_t* total) {
    __syncthreads();
    for (unsigned value = threadIdx.x; value < kDigitValuesMax; value += blockDim.x) {
        uint32_t count = 0;
        for (unsigned i = 0; i < kTables; ++i) count += tables[value * kTables + i];
        if (count > 0) atomicAdd(&total[value], count);
    }
}

// The sample consists of lines of 32 elements. So its memory traffic equals its size.
inline constexpr unsigned kLineElements = kWarpThreads;
inline constexpr uint64_t kSampleLinesMax = 16384;
// The number of sampled lines of a warp whose loads are in flight together.
inline constexpr unsigned kSampleLinesAtOnce = 8;

// The vector is cut into stretches of equal length, and one line of each stretch is sampled. The
// line's position varies from stretch to stretch. Weights lie in rows, and some columns are greater
// than others.
__device__ inline uint64_t sampled_line(const Selection& selection, uint64_t sample) {
    const uint64_t begin = (sample * selection.sample_step) >> 32U;
    const uint64_t end = ((sample + 1) * selection.sample_step) >> 32U;
    const uint64_t scattered = (sample + 1) * 0x9E3779B97F4A7C15U >> 32U;  // Fibonacci hashing
    return begin + (scattered * (end - begin) >> 32U);
}

__global__ void __launch_bounds__(kBlockThreads)
    count_sample(const __grid_constant__ Selection selection) {
    __shared__ Tables tables;
    clear_tables(tables);
    const unsigned lane = lane_of_thread();
    for (uint64_t first = warp_of_grid() * kSampleLinesAtOnce; first < selection.sample_lines;
         first += warps_of_grid() * kSampleLinesAtOnce) {
        float values[kSampleLinesAtOnce];
#pragma unroll
        for (unsigned i = 0; i < kSampleLinesAtOnce; ++i) {
            values[i] = 0.0F;
            if (first + i >= selection.sample_lines) continue;
            const uint64_t element = sampled_line(selection, first + i) * kLineElements + lane;
            if (element < selection.count) values[i] = selection.in[element];
        }
#pragma unroll
        for (unsigned i = 0; i < kSampleLinesAtOnce; ++i) {
            const uint32_t key = key_of(values[i]);
            if (key != 0) count_value(tables, key >> kDigit[0].shift, lane);
        }
    }
    add_tables(tables, selection.state->sampled);
}

// Counts the values of one digit. Only elements whose higher digits are those found so far are
// counted.
template <unsigned kIndex>
__global__ void __launch_bounds__(kBlockThreads)
    count_digit(const __grid_constant__ Selection selection) {
    constexpr Digit kOwn = kDigit[kIndex];
    const State& state = *selection.state;
    const Range range = range_of<Stage::choose>(selection);
    const uint64_t tiles = tiles_of(range.count);
    const bool has_tile = uint64_t{blockIdx.x} * (kBlockThreads / kWarpThreads) < tiles;
    if (state.is_settled != 0 || !has_tile) return;

    __shared__ Tables tables;
    clear_tables(tables);
    const uint32_t prefix = state.prefix >> (kOwn.shift + kOwn.bits);
    const unsigned lane = lane_of_thread();
    const bool aligned = is_aligned(range.values);
    for (uint64_t tile = warp_of_grid(); tile < tiles; tile += warps_of_grid())
        for (unsigned r = 0; r < kTileRounds; ++r) {
            const uint64_t begin = tile * kTileElements + r * kRoundElements;
            const Round round = load_round(range.values, begin, range.count, aligned, lane);
#pragma unroll
            for (unsigned p = 0; p < kRoundPacks; ++p)
#pragma unroll
                for (unsigned i = 0; i < kPackFloats; ++i) {
                    const uint32_t key = key_of(round.packs[p].at[i]);
                    if (key != 0 && key >> (kOwn.shift + kOwn.bits) == prefix)
                        count_value(tables, (key >> kOwn.shift) % kOwn.values(), lane);
                }
        }
    add_tables(tables, selection.state->counted[kIndex]);
}

// The digit value that contains the element of a rank. Ranks count from the greatest value down.
struct Place {
    // True in at most one thread. `value` and `above` are valid only there.
    bool is_here;
    uint32_t value;
    // The number of elements with greater values.
    uint32_t above;
    // The number of elements of all values. This is valid in every thread.
    uint32_t total;
};

template <unsigned kValues>
__device__ Place place_of_rank(const uint32_t* counted, uint32_t rank) {
    constexpr unsigned kEach = kValues / kScanThreads;
    static_assert(kEach * kScanThreads == kValues);
    uint32_t counts[kEach];
    uint32_t sum = 0;
    for (unsigned i = 0; i < kEach; ++i) {
        counts[i] = counted[kValues - 1 - (threadIdx.x * kEach + i)];
        sum += counts[i];
    }
    Place place = {};
    uint32_t above = sum_before_thread(sum, place.total);
    for (unsigned i = 0; i < kEach; ++i) {
        if (above < rank && rank - above <= counts[i]) {
            place.is_here = true;
            place.value = kValues - 1 - (threadIdx.x * kEach + i);
            place.above = above;
        }
        above += counts[i];
    }
    return place;
}

// Chooses the cut of the narrow stage. The cut keeps elements as great as the sample's element of
// the given rank. If the sample has fewer elements, the cut keeps all elements but zeros.
__global__ void __launch_bounds__(kScanThreads)
    choose_narrow_cut(const __grid_constant__ Selection selection) {
    constexpr Digit kFirst = kDigit[0];
    State& state = *selection.state;
    const Place place = place_of_rank<kFirst.values()>(state.sampled, selection.sample_rank);
    const bool is_found = place.total >= selection.sample_rank;
    if (is_found ? place.is_here : threadIdx.x == 0) {
        const uint32_t least = is_found ? place.value << kFirst.shift : 0;
        state.cuts[static_cast<unsigned>(Stage::narrow)] = {least > 0 ? least - 1 : 0, 0};
    }
}

// Finds one digit of the key of the k-th element. The last digit completes the cut.
template <unsigned kIndex>
__global__ void __launch_bounds__(kScanThreads)
    choose_digit(const __grid_constant__ Selection selection) {
    constexpr Digit kOwn = kDigit[kIndex];
    State& state = *selection.state;
    if (state.is_settled != 0) return;
    const uint32_t rank = kIndex == 0 ? static_cast<uint32_t>(selection.k) : state.rank;
    const uint32_t prefix = state.prefix;
    const Place place = place_of_rank<kOwn.values()>(state.counted[kIndex], rank);
    if (kIndex == 0 && place.total <= rank) {
        if (threadIdx.x == 0) state.is_settled = 1;  // the cut keeps all but zeros
        return;
    }
    if (!place.is_here) return;
    state.prefix = prefix | place.value << kOwn.shift;
    state.rank = rank - place.above;
    if (kIndex == kDigits - 1)
        state.cuts[static_cast<unsigned>(Stage::choose)] = {state.prefix, state.rank};
}

}  // namespace pace::kernels::cuda
