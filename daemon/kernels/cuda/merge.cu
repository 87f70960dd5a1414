// merge: the union of two lists of (index, value) with rising indices. Values of equal indices are
// added.
//
// In the merged lists, an element of `a` precedes an equal one of `b`. The merged lists are cut
// into tiles of equal size (merge path; Green, McColl, Bader 2012). A block finds the place of each
// element in its tile by binary search. An element of `b` whose index is also in `a` is dropped.
// Its value is added to the element of `a`. There are two passes. The first pass counts how many
// elements of each tile stay. The second pass writes them.
#include "daemon/kernels/cuda/element.cuh"
#include "daemon/kernels/cuda/launch.cuh"
#include "daemon/kernels/cuda/operations.h"
#include "daemon/kernels/cuda/scan.cuh"
#include "daemon/kernels/cuda/warp.cuh"

namespace pace::kernels::cuda {
// A namespace without a name would put the path of this file into the plug-in (README.md).
namespace merge_parts {

// The number of elements of both lists together.
constexpr unsigned kTile = 1024;
constexpr unsigned kWarps = kBlockThreads / kWarpThreads;
constexpr unsigned kWarpElements = kTile / kWarps;

struct Merge {
    uint64_t a_count;
    uint64_t b_count;
    const uint32_t* a_indices;
    const float* a_values;
    const uint32_t* b_indices;
    const float* b_values;
    uint32_t* out_indices;
    float* out_values;
    uint64_t* out_count;
    uint64_t tiles;
    // The number of elements of `a` before each tile, then the number of all elements of `a`.
    uint64_t* begins;
    // The number of elements of each tile that stay. Later this is the number before the tile.
    uint64_t* stayed;
};

// Returns how many of the first `diagonal` elements of the merged lists are from `a`.
__device__ uint64_t elements_of_a(const Merge& merge, uint64_t diagonal) {
    uint64_t low = diagonal > merge.b_count ? diagonal - merge.b_count : 0;
    uint64_t high = min(diagonal, merge.a_count);
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        if (merge.a_indices[middle] <= merge.b_indices[diagonal - 1 - middle])
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

__global__ void __launch_bounds__(kBlockThreads) find_begins(const __grid_constant__ Merge merge) {
    const uint64_t tile = uint64_t{blockIdx.x} * kBlockThreads + threadIdx.x;
    if (tile > merge.tiles) return;
    const uint64_t diagonal = min(tile * kTile, merge.a_count + merge.b_count);
    merge.begins[tile] = elements_of_a(merge, diagonal);
}

// A stretch of each list, and the stretches' indices in shared memory, those of `a` first. The
// indices may not rise, since another node may have sent such lists. Then the stretches are some
// stretches within the lists.
struct Tile {
    uint64_t a_begin;
    uint64_t b_begin;
    unsigned a_size;
    unsigned b_size;
    const uint32_t* a;
    const uint32_t* b;
};

__device__ Tile load_tile(const Merge& merge, uint32_t (&indices)[kTile]) {
    const uint64_t first = uint64_t{blockIdx.x} * kTile;
    const uint64_t size = min(uint64_t{kTile}, merge.a_count + merge.b_count - first);
    Tile tile;
    tile.a_begin = merge.begins[blockIdx.x];
    tile.b_begin = first - tile.a_begin;
    const uint64_t a_end = max(merge.begins[blockIdx.x + 1], tile.a_begin);
    tile.a_size = static_cast<unsigned>(min(a_end - tile.a_begin, size));
    tile.b_size = static_cast<unsigned>(min(size - tile.a_size, merge.b_count - tile.b_begin));
    tile.a = indices;
    tile.b = indices + tile.a_size;
    for (unsigned i = threadIdx.x; i < tile.a_size + tile.b_size; i += kBlockThreads)
        indices[i] = i < tile.a_size ? merge.a_indices[tile.a_begin + i]
                                     : merge.b_indices[tile.b_begin + (i - tile.a_size)];
    __syncthreads();
    return tile;
}

// Returns how many of the `size` rising indices are less than `index`.
__device__ unsigned count_less(const uint32_t* indices, unsigned size, uint32_t index) {
    unsigned low = 0;
    for (unsigned high = size; low < high;) {
        const unsigned middle = (low + high) / 2;
        if (indices[middle] < index)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// Describes the i-th element of one list's part of the tile. Tells how many elements of the other
// list's part precede it, and whether the other list has the same index. An equal index of `a` may
// be the last of the previous tile. An equal index of `b` may be the first of the next tile.
struct Match {
    unsigned others;
    bool is_equal;
};

__device__ Match match_of_a(const Merge& merge, const Tile& tile, unsigned i) {
    const unsigned others = count_less(tile.b, tile.b_size, tile.a[i]);
    if (others < tile.b_size) return {others, tile.b[others] == tile.a[i]};
    const uint64_t next = tile.b_begin + tile.b_size;
    return {others, next < merge.b_count && merge.b_indices[next] == tile.a[i]};
}

__device__ Match match_of_b(const Merge& merge, const Tile& tile, unsigned i) {
    const unsigned less = count_less(tile.a, tile.a_size, tile.b[i]);
    if (less < tile.a_size && tile.a[less] == tile.b[i]) return {less + 1, true};
    if (less > 0 || tile.a_begin == 0) return {less, false};
    return {0, merge.a_indices[tile.a_begin - 1] == tile.b[i]};
}

__global__ void __launch_bounds__(kBlockThreads) count_tiles(const __grid_constant__ Merge merge) {
    __shared__ uint32_t indices[kTile];
    const Tile tile = load_tile(merge, indices);
    unsigned dropped = 0;
    for (unsigned i = threadIdx.x; i < tile.b_size; i += kBlockThreads)
        dropped += match_of_b(merge, tile, i).is_equal ? 1 : 0;
    unsigned all = 0;
    (void)sum_before_warp(warp_sum(dropped), all);
    if (threadIdx.x == 0) merge.stayed[blockIdx.x] = tile.a_size + tile.b_size - all;
}

__global__ void __launch_bounds__(kScanThreads) place_tiles(const __grid_constant__ Merge merge) {
    const uint64_t all = make_sums_before(merge.stayed, merge.tiles);
    if (threadIdx.x == 0) *merge.out_count = all;
}

// A tile's elements in their places. `stays` marks the elements that stay.
struct Merged {
    uint32_t indices[kTile];
    float values[kTile];
    bool stays[kTile];
};

__device__ void place_elements(const Merge& merge, const Tile& tile, Merged& merged) {
    for (unsigned i = threadIdx.x; i < tile.a_size; i += kBlockThreads) {
        const Match match = match_of_a(merge, tile, i);
        const float value = merge.a_values[tile.a_begin + i];
        const unsigned place = i + match.others;
        merged.indices[place] = tile.a[i];
        merged.values[place] =
            match.is_equal ? canonical(total(value, merge.b_values[tile.b_begin + match.others]))
                           : value;
        merged.stays[place] = true;
    }
    for (unsigned i = threadIdx.x; i < tile.b_size; i += kBlockThreads) {
        const Match match = match_of_b(merge, tile, i);
        if (match.is_equal) continue;
        const unsigned place = i + match.others;
        merged.indices[place] = tile.b[i];
        merged.values[place] = merge.b_values[tile.b_begin + i];
        merged.stays[place] = true;
    }
}

// Each warp writes the elements of one stretch of the tile, 32 at a time.
__device__ void write_elements(const Merge& merge, const Merged& merged) {
    const unsigned lane = lane_of_thread();
    const unsigned begin = warp_of_block() * kWarpElements;
    unsigned staying = 0;
    for (unsigned i = begin; i < begin + kWarpElements; i += kWarpThreads)
        staying += __popc(__ballot_sync(kAllLanes, merged.stays[i + lane]));
    unsigned all = 0;
    uint64_t to = merge.stayed[blockIdx.x] + sum_before_warp(staying, all);
    for (unsigned i = begin; i < begin + kWarpElements; i += kWarpThreads) {
        const unsigned marks = __ballot_sync(kAllLanes, merged.stays[i + lane]);
        const uint64_t place = to + __popc(marks & ((1U << lane) - 1));
        if (merged.stays[i + lane]) {
            merge.out_indices[place] = merged.indices[i + lane];
            merge.out_values[place] = merged.values[i + lane];
        }
        to += __popc(marks);
    }
}

__global__ void __launch_bounds__(kBlockThreads) write_tiles(const __grid_constant__ Merge merge) {
    __shared__ uint32_t indices[kTile];
    __shared__ Merged merged;
    for (unsigned i = threadIdx.x; i < kTile; i += kBlockThreads) merged.stays[i] = false;
    const Tile tile = load_tile(merge, indices);
    place_elements(merge, tile, merged);
    __syncthreads();
    write_elements(merge, merged);
}

uint64_t tiles_of_both(uint64_t a_count, uint64_t b_count) {
    return divide_up(a_count + b_count, kTile);
}

bool is_valid(const pace_device_merge& merge) {
    const bool has_a =
        merge.a_count == 0 || (merge.a_indices != nullptr && merge.a_values != nullptr);
    const bool has_b =
        merge.b_count == 0 || (merge.b_indices != nullptr && merge.b_values != nullptr);
    return has_a && has_b && merge.out_indices != nullptr && merge.out_values != nullptr &&
           merge.workspace != nullptr &&
           merge.workspace_bytes >= merge_workspace(merge.a_count, merge.b_count) &&
           reinterpret_cast<uintptr_t>(merge.workspace) % sizeof(uint64_t) == 0;
}

}  // namespace merge_parts

using namespace merge_parts;

// The workspace has two numbers for each tile and one for the end.
size_t merge_workspace(uint64_t a_count, uint64_t b_count) {
    return 2 * (tiles_of_both(a_count, b_count) + 1) * sizeof(uint64_t);
}

int merge(const pace_device_merge* lists, void* stream) {
    if (lists->out_count == nullptr) return cudaErrorInvalidValue;
    Queue queue(stream);
    const uint64_t tiles = tiles_of_both(lists->a_count, lists->b_count);
    if (tiles == 0) {
        queue.zero(lists->out_count, sizeof(*lists->out_count));
        return queue.error();
    }
    if (!is_valid(*lists)) return cudaErrorInvalidValue;
    auto* numbers = static_cast<uint64_t*>(lists->workspace);
    const Merge merge{
        lists->a_count,  lists->b_count,     lists->a_indices,  lists->a_values,  lists->b_indices,
        lists->b_values, lists->out_indices, lists->out_values, lists->out_count, tiles,
        numbers,         numbers + tiles + 1};
    queue.run<find_begins>(divide_up(tiles + 1, kBlockThreads), kBlockThreads, merge);
    queue.run<count_tiles>(tiles, kBlockThreads, merge);
    queue.run<place_tiles>(1, kScanThreads, merge);
    queue.run<write_tiles>(tiles, kBlockThreads, merge);
    return queue.error();
}

}  // namespace pace::kernels::cuda
