// sum_segments: the weighted sums of many short segments, as many in one launch as the parameters
// of a kernel have room for. A long segment has a launch of its own (sum.cu), whose kernel is made
// for its number of inputs.
#include <cstddef>

#include "daemon/kernels/cuda/element.cuh"
#include "daemon/kernels/cuda/operations.h"
#include "daemon/kernels/cuda/pack.cuh"
#include "daemon/kernels/cuda/segment_table.h"
#include "daemon/kernels/cuda/sum.cuh"
#include "protocol/types.h"

namespace pace::kernels::cuda {
// A namespace without a name would put the path of this file into the plug-in (README.md).
namespace segments_parts {

// From this length on the launch of a kernel costs little beside its work.
constexpr uint64_t kLongBytes = uint64_t{1} << 20U;
constexpr int kPacks = packs_of(0);
constexpr size_t kParameterBytesMax = 4096;

template <typename Type>
struct Segments : Factors<Type> {
    SegmentTable table;
    unsigned input_count;
    unsigned output_count;  // 0: the inputs are the outputs
};
static_assert(sizeof(Segments<F64>) <= kParameterBytesMax);

// One segment, as sum_share() reads it.
template <typename Type>
struct Terms {
    using Element = typename Type::Element;
    using Accumulator = typename Type::Accumulator;
    unsigned input_count;
    unsigned output_count;
    Accumulator scale;
    const Accumulator* weights;
    Element* const* inputs;
    Element* const* outputs;
};

template <typename Type>
__device__ Terms<Type> terms_of(const Segments<Type>& all, const SegmentTable::Row& row) {
    const auto buffers = reinterpret_cast<typename Type::Element* const*>(row.buffers);
    const bool in_place = all.output_count == 0;
    return {all.input_count, in_place ? all.input_count : all.output_count, all.scale, all.weights,
            buffers,         in_place ? buffers : buffers + all.input_count};
}

template <typename Type>
__global__ void __launch_bounds__(kBlockThreads)
    segments_kernel(const __grid_constant__ Segments<Type> all) {
    constexpr int kWidth = kPackBytes / sizeof(typename Type::Element);
    const SegmentTable::Row row = all.table.row_of(blockIdx.x);
    const Terms<Type> terms = terms_of(all, row);
    const auto body = [&](auto share, uint64_t first) { sum_share<0, Type>(terms, share, first); };
    if (row.whole_packs)
        for_each_share<kWidth, kPacks>(Packing(row.count, kWidth, 0), row.block, body);
    else
        for_each_share<1, kPacksAlone>(Packing(row.count, 1, 0), row.block, body);
}

// The addresses of a segment in the caller's arrays.
struct Buffers {
    Buffers(const pace_device_sum_segments& sum, uint32_t segment)
        : inputs(sum.inputs + uint64_t{segment} * sum.input_count),
          outputs(sum.output_count == 0 ? nullptr
                                        : sum.outputs + uint64_t{segment} * sum.output_count),
          input_count(sum.input_count),
          output_count(sum.output_count) {}

    const void* at(uint32_t column) const {
        return column < input_count ? inputs[column] : outputs[column - input_count];
    }
    bool are_aligned() const {
        for (uint32_t column = 0; column < input_count + output_count; ++column)
            if (!is_aligned(at(column))) return false;
        return true;
    }
    bool are_there() const {
        for (uint32_t column = 0; column < input_count + output_count; ++column)
            if (at(column) == nullptr) return false;
        return true;
    }

    const void* const* inputs;
    void* const* outputs;
    uint32_t input_count;
    uint32_t output_count;
};

template <typename Type>
void add(SegmentTable& table, const Buffers& buffers, uint64_t count) {
    constexpr unsigned kWidth = kPackBytes / sizeof(typename Type::Element);
    const bool whole = buffers.are_aligned();
    const uint64_t blocks =
        whole ? Packing(count, kWidth, 0).blocks(kPacks) : Packing(count, 1, 0).blocks(kPacksAlone);
    table.add(static_cast<uint32_t>(count), whole, static_cast<uint32_t>(blocks),
              [&](uint32_t column) { return reinterpret_cast<uintptr_t>(buffers.at(column)); });
}

template <typename Type>
void flush(Segments<Type>& segments, Queue& queue) {
    if (segments.table.is_empty()) return;
    queue.run<segments_kernel<Type>>(segments.table.blocks(), kBlockThreads, segments);
    segments.table = SegmentTable(segments.input_count + segments.output_count);
}

int sum_alone(const pace_device_sum_segments& from, const Buffers& buffers, uint64_t count,
              void* stream) {
    pace_device_sum alone = {};
    alone.dtype = from.dtype;
    alone.count = count;
    alone.scale = from.scale;
    for (uint32_t k = 0; k < from.input_count; ++k) {
        alone.weights[k] = from.weights[k];
        alone.inputs[k] = buffers.inputs[k];
        if (from.output_count == 0) alone.outputs[k] = const_cast<void*>(buffers.inputs[k]);
    }
    for (uint32_t j = 0; j < from.output_count; ++j) alone.outputs[j] = buffers.outputs[j];
    alone.input_count = from.input_count;
    alone.output_count = from.output_count == 0 ? from.input_count : from.output_count;
    return sum(&alone, stream);
}

template <typename Type>
int sum_type(const pace_device_sum_segments& from, void* stream) {
    Queue queue(stream);
    Segments<Type> segments{factors_of<Type>(from),
                            SegmentTable(from.input_count + from.output_count), from.input_count,
                            from.output_count};
    for (uint32_t s = 0; s < from.segment_count; ++s) {
        const uint64_t count = from.counts[s];
        if (count == 0) continue;
        const Buffers buffers(from, s);
        if (!buffers.are_there()) return cudaErrorInvalidValue;
        if (count * sizeof(typename Type::Element) >= kLongBytes) {
            if (const int failed = sum_alone(from, buffers, count, stream); failed != cudaSuccess)
                return failed;
            continue;
        }
        add<Type>(segments.table, buffers, count);
        if (segments.table.is_full()) flush(segments, queue);
    }
    flush(segments, queue);
    return queue.error();
}

}  // namespace segments_parts

using namespace segments_parts;

int sum_segments(const pace_device_sum_segments* sum, void* stream) {
    if (sum->input_count == 0 || sum->input_count > PACE_DEVICE_MEMBERS_MAX ||
        sum->output_count > PACE_DEVICE_MEMBERS_MAX || sum->dtype > 0xFFU)
        return cudaErrorInvalidValue;
    switch (static_cast<protocol::DType>(sum->dtype)) {
        case protocol::DType::f32:
            return sum_type<F32>(*sum, stream);
        case protocol::DType::f64:
            return sum_type<F64>(*sum, stream);
        case protocol::DType::f16:
            return sum_type<F16>(*sum, stream);
        case protocol::DType::bf16:
            return sum_type<Bf16>(*sum, stream);
        default:
            return cudaErrorInvalidValue;
    }
}

}  // namespace pace::kernels::cuda
