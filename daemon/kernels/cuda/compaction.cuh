// compaction: marks the elements above a cut, then gathers them in order.
//
// Every element has two mark bits. Each warp marks a tile. A tile's place in the output is the sum
// of the marks of the tiles before it. So no block waits for another. The second pass reads only
// the marks, which are a thirty-second of the vector, and the few elements that the marks point to.
#pragma once

#include <cstdint>

#include "daemon/kernels/cuda/scan.cuh"
#include "daemon/kernels/cuda/selection.cuh"
#include "daemon/kernels/cuda/tile.cuh"

namespace pace::kernels::cuda {

// Two counts in one number. They are summed together. Neither count exceeds 2^32.
__device__ inline uint64_t marks_of(uint32_t above, uint32_t equal) {
    return uint64_t{above} << 32U | equal;
}
__device__ inline uint32_t above_of(uint64_t marks) {
    return static_cast<uint32_t>(marks >> 32U);
}
__device__ inline uint32_t equal_of(uint64_t marks) {
    return static_cast<uint32_t>(marks);
}

// Eight neighboring lanes have four marks each. All eight lanes get the word that these marks form.
__device__ inline uint32_t joined(uint32_t four, unsigned lane) {
    uint32_t word = four << (lane % 8 * 4);
    for (unsigned distance = 1; distance < 8; distance *= 2)
        word |= __shfl_xor_sync(kAllLanes, word, distance);
    return word;
}

// Writes one kind of marks of a round to `words`. Returns the number of this lane's marked
// elements.
template <typename HasMark>
__device__ uint32_t write_marks(const Round& round, unsigned lane, uint32_t* words,
                                HasMark has_mark) {
    uint32_t marked = 0;
    uint32_t own = 0;
#pragma unroll
    for (unsigned p = 0; p < kRoundPacks; ++p) {
        uint32_t four = 0;
#pragma unroll
        for (unsigned i = 0; i < kPackFloats; ++i)
            four |= (has_mark(key_of(round.packs[p].at[i])) ? 1U : 0U) << i;
        marked += __popc(four);
        const uint32_t word = joined(four, lane);
        if (lane % 8 == p) own = word;
    }
    if (lane % 8 < kRoundPacks) words[lane % 8 * 4 + lane / 8] = own;
    return marked;
}

// Marks the elements that a stage's cut keeps, and counts them tile by tile. The first stage also
// copies the vector to a separate residual.
template <Stage kStage>
__global__ void __launch_bounds__(kBlockThreads) mark(const __grid_constant__ Selection selection) {
    const Range range = range_of<kStage>(selection);
    const Cut cut = selection.state->cuts[static_cast<unsigned>(kStage)];
    float* const copy = kStage == Stage::narrow && selection.residual != selection.in
                            ? selection.residual
                            : nullptr;
    const bool aligned = is_aligned(range.values) && is_aligned(copy);
    const unsigned lane = lane_of_thread();
    const uint64_t tiles = tiles_of(range.count);
    for (uint64_t tile = warp_of_grid(); tile < tiles; tile += warps_of_grid()) {
        uint32_t above = 0;
        uint32_t equal = 0;
        for (unsigned r = 0; r < kTileRounds; ++r) {
            const uint64_t begin = tile * kTileElements + r * kRoundElements;
            const uint64_t word = begin / 32;
            const Round round = load_round(range.values, begin, range.count, aligned, lane);
            if (copy != nullptr) store_round(copy, begin, range.count, aligned, lane, round);
            above += write_marks(round, lane, selection.above + word,
                                 [&](uint32_t key) { return key > cut.key; });
            if (cut.ties > 0)
                equal += write_marks(round, lane, selection.equal + word,
                                     [&](uint32_t key) { return key == cut.key; });
        }
        const uint64_t marks = warp_sum(marks_of(above, equal));
        if (lane == 0) selection.tiles[tile] = marks;
    }
}

// Computes where each tile's elements go, and the totals.
template <Stage kStage>
__global__ void __launch_bounds__(kScanThreads)
    place_tiles(const __grid_constant__ Selection selection) {
    State& state = *selection.state;
    const Cut cut = state.cuts[static_cast<unsigned>(kStage)];
    const uint64_t tiles = tiles_of(range_of<kStage>(selection).count);
    const uint64_t all = make_sums_before(selection.tiles, tiles);
    if (threadIdx.x != 0) return;
    selection.tiles[tiles] = all;
    if (kStage == Stage::narrow) {
        const bool is_enough = above_of(all) >= selection.k || cut.key == 0;
        state.candidates = above_of(all);
        state.is_narrowed = is_enough && above_of(all) <= selection.capacity ? 1 : 0;
    } else {
        *selection.out_count =
            min(uint64_t{above_of(all)} + min(equal_of(all), cut.ties), selection.k);
    }
}

// Outputs an element that a stage keeps. The element is the `at`-th of the kept ones, and is at
// `place` of the range.
template <Stage kStage>
__device__ void emit(const Selection& selection, const Range& range, uint32_t at, uint64_t place) {
    // This only happens if the vector is written to meanwhile.
    if (at >= (kStage == Stage::narrow ? selection.capacity : selection.k)) return;
    const float value = range.values[place];
    if (kStage == Stage::narrow) {
        selection.candidate_indices[at] = static_cast<uint32_t>(place);
        selection.candidate_values[at] = value;
        return;
    }
    const uint32_t index =
        range.indices != nullptr ? range.indices[place] : static_cast<uint32_t>(place);
    selection.out_indices[at] = index;
    selection.out_values[at] = value;
    if (selection.residual != nullptr) selection.residual[index] = 0.0F;
}

// Each lane handles two words of marks. The residual may be the vector itself, because one thread
// both reads an element and zeroes it.
template <Stage kStage>
__global__ void __launch_bounds__(kBlockThreads)
    gather(const __grid_constant__ Selection selection) {
    if (kStage == Stage::narrow && selection.state->is_narrowed == 0) return;
    constexpr unsigned kEach = kTileWords / kWarpThreads;
    const Range range = range_of<kStage>(selection);
    const uint32_t ties = selection.state->cuts[static_cast<unsigned>(kStage)].ties;
    const unsigned lane = lane_of_thread();
    const uint64_t tiles = tiles_of(range.count);
    for (uint64_t tile = warp_of_grid(); tile < tiles; tile += warps_of_grid()) {
        const uint64_t before = selection.tiles[tile];
        if (selection.tiles[tile + 1] == before) continue;
        const uint64_t first_word = tile * kTileWords + lane * kEach;
        uint32_t above[kEach];
        uint32_t equal[kEach];
        uint64_t own = 0;
#pragma unroll
        for (unsigned i = 0; i < kEach; ++i) {
            above[i] = selection.above[first_word + i];
            equal[i] = ties > 0 ? selection.equal[first_word + i] : 0;
            own += marks_of(__popc(above[i]), __popc(equal[i]));
        }
        const uint64_t so_far = before + warp_sum_so_far(own) - own;
        uint32_t above_before = above_of(so_far);
        uint32_t equal_before = equal_of(so_far);
#pragma unroll
        for (unsigned i = 0; i < kEach; ++i)
            for (uint32_t marks = above[i] | equal[i]; marks != 0; marks &= marks - 1) {
                const unsigned bit = __ffs(static_cast<int>(marks)) - 1;
                const bool is_equal = (equal[i] >> bit & 1U) != 0;
                const uint32_t at = above_before + min(equal_before, ties);
                if (!is_equal || equal_before < ties)
                    emit<kStage>(selection, range, at, (first_word + i) * 32 + bit);
                equal_before += is_equal ? 1 : 0;
                above_before += is_equal ? 0 : 1;
            }
    }
}

}  // namespace pace::kernels::cuda
