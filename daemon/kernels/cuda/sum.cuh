// sum: what one thread of a sum does with its elements.
//
// The arithmetic is that of daemon/kernels/reduce.h. A weight of exactly 1 is multiplied as well.
// This multiplication changes no bit, and costs no time in a kernel that waits for memory.
#pragma once

#include "daemon/device/plugin.h"
#include "daemon/kernels/cuda/element.cuh"
#include "daemon/kernels/cuda/pack.cuh"
#include "daemon/kernels/headroom.h"

namespace pace::kernels::cuda {

// Returns the number of packs that a thread loads before it uses the first. `inputs` is the number
// of inputs, and 0 means any number. With few inputs more packs are in flight. With many inputs the
// registers would not suffice.
constexpr int packs_of(int inputs) {
    return inputs > 0 && inputs <= 4 ? 4 : 2;
}
// The number of packs if a pack is one element.
constexpr int kPacksAlone = 4;

// What the sums of one call are multiplied with.
template <typename Type>
struct Factors {
    typename Type::Accumulator scale;
    typename Type::Accumulator weights[PACE_DEVICE_MEMBERS_MAX];
};

// Of a pace_device_sum or a pace_device_sum_segments.
template <typename Type, typename Call>
Factors<Type> factors_of(const Call& call) {
    using Accumulator = typename Type::Accumulator;
    const double room = headroom(call.input_count, call.scale);
    Factors<Type> factors{static_cast<Accumulator>(call.scale / room), {}};
    for (uint32_t k = 0; k < call.input_count; ++k)
        factors.weights[k] = static_cast<Accumulator>(call.weights[k] * room);
    return factors;
}

// `sum` has input_count, inputs, weights, output_count, outputs and scale.
// A thread reads its elements of all inputs before it writes them to any output, so that an output
// may be an input. The compiler must not assume otherwise: no __restrict__ here.
template <int kInputs, typename Type, typename Terms, typename Shape>
__device__ void sum_share(const Terms& sum, Shape, uint64_t first) {
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

}  // namespace pace::kernels::cuda
