// sum: the weighted sum of up to 32 buffers into up to 32, in one pass over memory.
#include "daemon/kernels/cuda/element.cuh"
#include "daemon/kernels/cuda/operations.h"
#include "daemon/kernels/cuda/pack.cuh"
#include "daemon/kernels/cuda/sum.cuh"
#include "protocol/types.h"

namespace pace::kernels::cuda {
// A namespace without a name would put the path of this file into the plug-in (README.md).
namespace sum_parts {

template <typename Type>
struct Sum : Factors<Type> {
    using Element = typename Type::Element;
    Packing packing;
    unsigned input_count;
    unsigned output_count;
    const Element* inputs[PACE_DEVICE_MEMBERS_MAX];
    Element* outputs[PACE_DEVICE_MEMBERS_MAX];
};

template <typename Type, int kInputs, int kWidth, int kPacks>
__global__ void __launch_bounds__(kBlockThreads) sum_kernel(const __grid_constant__ Sum<Type> sum) {
    for_each_share<kWidth, kPacks>(sum.packing, blockIdx.x, [&](auto share, uint64_t first) {
        sum_share<kInputs, Type>(sum, share, first);
    });
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
    Sum<Type> sum{factors_of<Type>(from),
                  packing_of(from, sizeof(Element)),
                  from.input_count,
                  from.output_count,
                  {},
                  {}};
    for (uint32_t k = 0; k < from.input_count; ++k)
        sum.inputs[k] = static_cast<const Element*>(from.inputs[k]);
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

}  // namespace pace::kernels::cuda
