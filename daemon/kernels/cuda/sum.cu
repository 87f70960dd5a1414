// sum: the weighted sum of up to 32 buffers into up to 32, in one pass over memory.
//
// The arithmetic is that of daemon/kernels/reduce.h. A weight of exactly 1 is multiplied as well.
// This multiplication changes no bit, and costs no time in a kernel that waits for memory.
#include "daemon/kernels/cuda/element.cuh"
#include "daemon/kernels/cuda/operations.h"
#include "daemon/kernels/cuda/pack.cuh"
#include "daemon/kernels/headroom.h"
#include "protocol/types.h"

namespace pace::kernels::cuda {
// A namespace without a name would put the path of this file into the plug-in (README.md).
namespace sum_parts {

template <typename Type>
struct Sum {
    using Element = typename Type::Element;
    using Accumulator = typename Type::Accumulator;
    Packing packing;
    unsigned input_count;
    unsigned output_count;
    Accumulator scale;
    Accumulator weights[PACE_DEVICE_MEMBERS_MAX];
    const Element* inputs[PACE_DEVICE_MEMBERS_MAX];
    Element* outputs[PACE_DEVICE_MEMBERS_MAX];
};

// Returns the number of packs that a thread loads before it uses the first. `inputs` is the number
// of inputs, and 0 means any number. With few inputs more packs are in flight. With many inputs the
// registers would not suffice.
constexpr int packs_of(int inputs) {
    return inputs > 0 && inputs <= 4 ? 4 : 2;
}
// The number of packs if a pack is one element.
constexpr int kPacksAlone = 4;

// A thread reads its elements of all inputs before it writes them to any output, so that an output
// may be an input. The compiler must not assume otherwise: no __restrict__ here.
template <int kInputs, typename Type, typename Shape>
__device__ void sum_share(const Sum<Type>& sum, Shape, uint64_t first) {
    using Accumulator = typename Type::Accumulator;
    constexpr int kWidth = Shape::kWidth;
    constexpr int kPacks = Shape::kPacks;
    const unsigned inputs = kInputs > 0 ? kInputs : sum.input_count;
    Accumulator sums[kPacks][kWidth];
#pragma unroll(kInputs > 0 ? kInputs : 1)
    for (unsigned k = 0; k < inputs; ++k) {
        Pack<typename Type::Element, kWidth> packs[kPacks];
#pragma unroll
        for (int p = 0; p < kPacks; ++p)
            packs[p] = load_pack<kWidth>(sum.inputs[k] + first + p * Shape::kStep);
#pragma unroll
        for (int p = 0; p < kPacks; ++p)
#pragma unroll
            for (int i = 0; i < kWidth; ++i) {
                const Accumulator term = product(Type::widen(packs[p].at[i]), sum.weights[k]);
                sums[p][i] = k == 0 ? term : total(sums[p][i], term);
            }
    }
    Pack<typename Type::Element, kWidth> rounded[kPacks];
#pragma unroll
    for (int p = 0; p < kPacks; ++p)
#pragma unroll
        for (int i = 0; i < kWidth; ++i)
            rounded[p].at[i] = Type::round(product(sums[p][i], sum.scale));
    for (unsigned j = 0; j < sum.output_count; ++j)
#pragma unroll
        for (int p = 0; p < kPacks; ++p)
            store_pack<kWidth>(sum.outputs[j] + first + p * Shape::kStep, rounded[p]);
}

template <typename Type, int kInputs, int kWidth, int kPacks>
__global__ void __launch_bounds__(kBlockThreads) sum_kernel(const __grid_constant__ Sum<Type> sum) {
    for_each_share<kWidth, kPacks>(
        sum.packing, [&](auto share, uint64_t first) { sum_share<kInputs>(sum, share, first); });
}

template <typename Type, int kInputs>
void queue_packs(const Sum<Type>& sum, Queue& queue) {
    constexpr int kWidth = kPackBytes / sizeof(typename Type::Element);
    constexpr int kPacks = packs_of(kInputs);
    queue.run<sum_kernel<Type, kInputs, kWidth, kPacks>>(sum.packing.blocks(kPacks), kBlockThreads,
                                                         sum);
}

template <typename Type>
void queue_sum(const Sum<Type>& sum, Queue& queue) {
    if (sum.packing.width == 1)
        return queue.run<sum_kernel<Type, 0, 1, kPacksAlone>>(sum.packing.blocks(kPacksAlone),
                                                              kBlockThreads, sum);
    switch (sum.input_count) {
        case 1:
            return queue_packs<Type, 1>(sum, queue);
        case 2:
            return queue_packs<Type, 2>(sum, queue);
        case 3:
            return queue_packs<Type, 3>(sum, queue);
        case 4:
            return queue_packs<Type, 4>(sum, queue);
        case 5:
            return queue_packs<Type, 5>(sum, queue);
        case 6:
            return queue_packs<Type, 6>(sum, queue);
        case 7:
            return queue_packs<Type, 7>(sum, queue);
        case 8:
            return queue_packs<Type, 8>(sum, queue);
        default:
            return queue_packs<Type, 0>(sum, queue);
    }
}

// Packs are moved whole if all buffers have the same alignment to 16 bytes. Otherwise the elements
// are moved one by one.
Packing packing_of(const pace_device_sum& sum, unsigned size) {
    const unsigned before = elements_before(sum.inputs[0], size);
    bool alike = true;
    for (uint32_t k = 0; k < sum.input_count; ++k)
        alike = alike && elements_before(sum.inputs[k], size) == before;
    for (uint32_t j = 0; j < sum.output_count; ++j)
        alike = alike && elements_before(sum.outputs[j], size) == before;
    if (!alike) return Packing(sum.count, 1, 0);
    return Packing(sum.count, kPackBytes / size, before);
}

template <typename Type>
void sum_type(const pace_device_sum& from, Queue& queue) {
    using Element = typename Type::Element;
    using Accumulator = typename Type::Accumulator;
    const double room = headroom(from.input_count, from.scale);
    Sum<Type> sum{packing_of(from, sizeof(Element)),
                  from.input_count,
                  from.output_count,
                  static_cast<Accumulator>(from.scale / room),
                  {},
                  {},
                  {}};
    for (uint32_t k = 0; k < from.input_count; ++k) {
        sum.weights[k] = static_cast<Accumulator>(from.weights[k] * room);
        sum.inputs[k] = static_cast<const Element*>(from.inputs[k]);
    }
    for (uint32_t j = 0; j < from.output_count; ++j)
        sum.outputs[j] = static_cast<Element*>(from.outputs[j]);
    queue_sum(sum, queue);
}

bool is_valid(const pace_device_sum& sum) {
    if (sum.input_count > PACE_DEVICE_MEMBERS_MAX || sum.output_count > PACE_DEVICE_MEMBERS_MAX)
        return false;
    for (uint32_t k = 0; k < sum.input_count; ++k)
        if (sum.inputs[k] == nullptr) return false;
    for (uint32_t j = 0; j < sum.output_count; ++j)
        if (sum.outputs[j] == nullptr) return false;
    return true;
}

void zero_outputs(const pace_device_sum& sum, size_t size, Queue& queue) {
    for (uint32_t j = 0; j < sum.output_count; ++j) queue.zero(sum.outputs[j], sum.count * size);
}

}  // namespace sum_parts

using namespace sum_parts;

int sum(const pace_device_sum* sum, void* stream) {
    const auto dtype = static_cast<protocol::DType>(sum->dtype);
    if (sum->dtype > 0xFFU || !protocol::is_valid(dtype) || dtype == protocol::DType::u32)
        return cudaErrorInvalidValue;
    if (sum->count == 0) return cudaSuccess;
    if (!is_valid(*sum)) return cudaErrorInvalidValue;
    Queue queue(stream);
    if (sum->output_count == 0) return cudaSuccess;
    if (sum->input_count == 0) {
        zero_outputs(*sum, protocol::size_of(dtype), queue);
        return queue.error();
    }
    switch (dtype) {
        case protocol::DType::f32:
            sum_type<F32>(*sum, queue);
            break;
        case protocol::DType::f64:
            sum_type<F64>(*sum, queue);
            break;
        case protocol::DType::f16:
            sum_type<F16>(*sum, queue);
            break;
        case protocol::DType::bf16:
            sum_type<Bf16>(*sum, queue);
            break;
        case protocol::DType::u32:  // indices are never summed
            break;
    }
    return queue.error();
}

// All kernels are compiled for the same architectures, so checking one is enough.

}  // namespace pace::kernels::cuda
