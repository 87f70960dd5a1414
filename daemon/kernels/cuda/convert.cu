// convert: converts a buffer to another element type, rounding once to nearest even. NaNs become
// the positive quiet NaN, as in every sum.
#include <type_traits>

#include "daemon/kernels/cuda/element.cuh"
#include "daemon/kernels/cuda/operations.h"
#include "daemon/kernels/cuda/pack.cuh"
#include "protocol/types.h"

namespace pace::kernels::cuda {
// A namespace without a name would put the path of this file into the plug-in (README.md).
namespace convert_parts {

using protocol::DType;

// The width of a pack of halves. Wider types need several loads.
constexpr int kWidth = 8;
constexpr int kPacks = 2;
constexpr int kPacksAlone = 8;

// A double rounded to odd records in its last bit whether anything was cut off. So rounding it
// again, to a type that is at least two bits shorter, gives the same result as rounding once
// (Boldo, Melquiond 2008).
__device__ inline float rounded_to_odd(double value) {
    const float cut = __double2float_rz(value);
    const bool is_exact = static_cast<double>(cut) == value;
    return is_exact ? cut : __uint_as_float(__float_as_uint(cut) | 1U);
}

template <typename To>
__device__ typename To::Element converted(float value) {
    return To::round(value);
}

template <typename To>
__device__ typename To::Element converted(double value) {
    if constexpr (sizeof(typename To::Element) == sizeof(float))
        return To::round(__double2float_rn(value));
    else
        return To::round(rounded_to_odd(value));
}

// Whole packs of both buffers begin `elements_before` elements behind the buffers' starts. If there
// is no such place, the width is 1.
template <typename From, typename To>
Packing packing_of(const pace_device_convert& convert) {
    const auto* in = static_cast<const typename From::Element*>(convert.in);
    const auto* out = static_cast<const typename To::Element*>(convert.out);
    for (unsigned before = 0; before < kWidth; ++before)
        if (is_aligned(in + before) && is_aligned(out + before))
            return Packing(convert.count, kWidth, before);
    return Packing(convert.count, 1, 0);
}

template <typename From, typename To, int kWidthOf, int kPacksOf>
__global__ void __launch_bounds__(kBlockThreads)
    convert_kernel(const Packing packing, const typename From::Element* __restrict__ in,
                   typename To::Element* __restrict__ out) {
    for_each_share<kWidthOf, kPacksOf>(packing, blockIdx.x, [&](auto share, uint64_t first) {
        using Share = decltype(share);
        Pack<typename From::Element, Share::kWidth> packs[Share::kPacks];
#pragma unroll
        for (int p = 0; p < Share::kPacks; ++p)
            packs[p] = load_pack<Share::kWidth>(in + first + p * Share::kStep);
#pragma unroll
        for (int p = 0; p < Share::kPacks; ++p) {
            Pack<typename To::Element, Share::kWidth> rounded;
#pragma unroll
            for (int i = 0; i < Share::kWidth; ++i)
                rounded.at[i] = converted<To>(From::widen(packs[p].at[i]));
            store_pack<Share::kWidth>(out + first + p * Share::kStep, rounded);
        }
    });
}

template <typename From, typename To>
void convert_types(const pace_device_convert& convert, Queue& queue) {
    const auto* in = static_cast<const typename From::Element*>(convert.in);
    auto* out = static_cast<typename To::Element*>(convert.out);
    const auto packing = packing_of<From, To>(convert);
    if constexpr (std::is_same_v<From, To>)
        queue.copy(out, in, convert.count * sizeof(*out));
    else if (packing.width == 1)
        queue.run<convert_kernel<From, To, 1, kPacksAlone>>(packing.blocks(kPacksAlone),
                                                            kBlockThreads, packing, in, out);
    else
        queue.run<convert_kernel<From, To, kWidth, kPacks>>(packing.blocks(kPacks), kBlockThreads,
                                                            packing, in, out);
}

template <typename From>
void convert_from(const pace_device_convert& convert, Queue& queue) {
    switch (static_cast<DType>(convert.to)) {
        case DType::f32:
            return convert_types<From, F32>(convert, queue);
        case DType::f64:
            return convert_types<From, F64>(convert, queue);
        case DType::f16:
            return convert_types<From, F16>(convert, queue);
        case DType::bf16:
            return convert_types<From, Bf16>(convert, queue);
        case DType::u32:
            return;
    }
}

bool is_valid(pace_device_dtype dtype) {
    return dtype <= 0xFFU && protocol::is_valid(static_cast<DType>(dtype)) &&
           static_cast<DType>(dtype) != DType::u32;
}

}  // namespace convert_parts

using namespace convert_parts;

int convert(const pace_device_convert* convert, void* stream) {
    if (!is_valid(convert->from) || !is_valid(convert->to)) return cudaErrorInvalidValue;
    if (convert->count == 0) return cudaSuccess;
    if (convert->in == nullptr || convert->out == nullptr) return cudaErrorInvalidValue;
    Queue queue(stream);
    switch (static_cast<DType>(convert->from)) {
        case DType::f32:
            convert_from<F32>(*convert, queue);
            break;
        case DType::f64:
            convert_from<F64>(*convert, queue);
            break;
        case DType::f16:
            convert_from<F16>(*convert, queue);
            break;
        case DType::bf16:
            convert_from<Bf16>(*convert, queue);
            break;
        case DType::u32:
            break;
    }
    return queue.error();
}

}  // namespace pace::kernels::cuda
