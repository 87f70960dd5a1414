// top_k: finds the k elements of greatest magnitude exactly, in the order of
// daemon/sparse/residual/top_k.h.
//
// As in daemon/sparse/residual/top_k.h, the search takes a little more than one pass over the
// vector. A sample gives a magnitude that somewhat more than k elements reach. One pass marks and
// collects these elements. A radix selection among these few elements finds the exact cut. The
// sample may mislead, or there may be no room for the collected elements because much of the vector
// is equal. Then the radix selection processes the whole vector instead. This takes five more
// passes and gives the same result. The host does not wait for this decision. Later steps read it
// on the device.
#include <cmath>

#include "daemon/kernels/cuda/compaction.cuh"
#include "daemon/kernels/cuda/histogram.cuh"
#include "daemon/kernels/cuda/launch.cuh"
#include "daemon/kernels/cuda/operations.h"
#include "daemon/kernels/cuda/selection.cuh"

namespace pace::kernels::cuda {
// A namespace without a name would put the path of this file into the plug-in (README.md).
namespace top_k_parts {

constexpr uint64_t kCountMax = 0xFFFFFFFFU;  // indices have 32 bits

// The parts of the workspace, one behind the other.
struct Room {
    static constexpr size_t kAlignment = 256;
    size_t bytes = 0;

    // Returns where a part of this size begins.
    size_t take(uint64_t part_bytes) {
        const size_t begin = bytes;
        bytes += divide_up(part_bytes, kAlignment) * kAlignment;
        return begin;
    }
};

struct Workspace {
    // There is room for twice the wanted elements and a sixteenth of the vector. Evenly spread
    // values have about a sixteenth with the same first digit.
    Workspace(uint64_t count, uint64_t k)
        : capacity(2 * k + count / 16 + 4096 < count ? 2 * k + count / 16 + 4096 : count) {
        const uint64_t mark_bytes = tiles_of(count) * kTileWords * sizeof(uint32_t);
        Room room;
        state = room.take(sizeof(State));
        tiles = room.take((tiles_of(count) + 1) * sizeof(uint64_t));
        above = room.take(mark_bytes);
        equal = room.take(mark_bytes);
        candidate_indices = room.take(capacity * sizeof(uint32_t));
        candidate_values = room.take(capacity * sizeof(float));
        bytes = room.bytes;
    }

    uint64_t capacity;
    size_t state;
    size_t tiles;
    size_t above;
    size_t equal;
    size_t candidate_indices;
    size_t candidate_values;
    size_t bytes;
};

// Returns the number of sample elements expected among the top k, plus a margin. The sample may be
// wrong by chance, or because neighbors are alike. In this case the sample should keep too many
// elements rather than too few. The factors are guesses.
uint32_t sample_rank_of(uint64_t count, uint64_t k, uint64_t sample_lines) {
    if (sample_lines == divide_up(count, kLineElements)) return static_cast<uint32_t>(k);
    const double share = static_cast<double>(k) / static_cast<double>(count);
    const double expected = share * static_cast<double>(sample_lines * kLineElements);
    return static_cast<uint32_t>(1.25 * expected + 8 * std::sqrt(expected) + 32);
}

template <typename Part>
Part* part_of(void* workspace, size_t begin) {
    return reinterpret_cast<Part*>(static_cast<std::byte*>(workspace) + begin);
}

Selection selection_of(const pace_device_top_k& top_k, const Workspace& parts) {
    Selection selection = {};
    selection.in = top_k.in;
    selection.count = top_k.count;
    selection.k = top_k.k;
    selection.out_indices = top_k.indices;
    selection.out_values = top_k.values;
    selection.out_count = top_k.out_count;
    selection.residual = top_k.residual;
    const uint64_t lines = divide_up(top_k.count, kLineElements);
    selection.sample_lines = lines < kSampleLinesMax ? lines : kSampleLinesMax;
    selection.sample_step = (lines << 32U) / selection.sample_lines;
    selection.sample_rank = sample_rank_of(top_k.count, top_k.k, selection.sample_lines);
    selection.capacity = parts.capacity;
    selection.state = part_of<State>(top_k.workspace, parts.state);
    selection.tiles = part_of<uint64_t>(top_k.workspace, parts.tiles);
    selection.above = part_of<uint32_t>(top_k.workspace, parts.above);
    selection.equal = part_of<uint32_t>(top_k.workspace, parts.equal);
    selection.candidate_indices = part_of<uint32_t>(top_k.workspace, parts.candidate_indices);
    selection.candidate_values = part_of<float>(top_k.workspace, parts.candidate_values);
    return selection;
}

template <unsigned kIndex>
void queue_digit(const Selection& selection, uint64_t blocks, Queue& queue) {
    queue.run<count_digit<kIndex>>(blocks, kBlockThreads, selection);
    queue.run<choose_digit<kIndex>>(1, kScanThreads, selection);
}

template <Stage kStage>
void queue_compaction(const Selection& selection, uint64_t blocks, Queue& queue) {
    queue.run<mark<kStage>>(blocks, kBlockThreads, selection);
    queue.run<place_tiles<kStage>>(1, kScanThreads, selection);
    queue.run<gather<kStage>>(blocks, kBlockThreads, selection);
}

void queue_selection(const Selection& selection, Queue& queue) {
    constexpr unsigned kWarps = kBlockThreads / kWarpThreads;
    const uint64_t blocks = queue.blocks_to_fill(divide_up(tiles_of(selection.count), kWarps));
    const uint64_t sample_blocks =
        divide_up(selection.sample_lines, uint64_t{kWarps} * kSampleLinesAtOnce);
    queue.zero(selection.state, sizeof(State));
    queue.run<count_sample>(sample_blocks, kBlockThreads, selection);
    queue.run<choose_narrow_cut>(1, kScanThreads, selection);
    queue_compaction<Stage::narrow>(selection, blocks, queue);
    queue_digit<0>(selection, blocks, queue);
    queue_digit<1>(selection, blocks, queue);
    queue_digit<2>(selection, blocks, queue);
    queue_compaction<Stage::choose>(selection, blocks, queue);
}

}  // namespace top_k_parts

using namespace top_k_parts;

size_t top_k_workspace(uint64_t count, uint64_t k) {
    if (count > kCountMax || k > count) return 0;
    return Workspace(count, k).bytes;
}

int top_k(const pace_device_top_k* top_k, void* stream) {
    if (top_k->out_count == nullptr || top_k->count > kCountMax || top_k->k > top_k->count)
        return cudaErrorInvalidValue;
    Queue queue(stream);
    if (top_k->k == 0) {
        queue.zero(top_k->out_count, sizeof(*top_k->out_count));
        if (top_k->residual != nullptr && top_k->count > 0)
            queue.copy(top_k->residual, top_k->in, top_k->count * sizeof(float));
        return queue.error();
    }
    const Workspace parts(top_k->count, top_k->k);
    if (top_k->in == nullptr || top_k->indices == nullptr || top_k->values == nullptr ||
        top_k->workspace == nullptr || top_k->workspace_bytes < parts.bytes ||
        reinterpret_cast<uintptr_t>(top_k->workspace) % Room::kAlignment != 0)
        return cudaErrorInvalidValue;
    queue_selection(selection_of(*top_k, parts), queue);
    return queue.error();
}

}  // namespace pace::kernels::cuda
