// scatter_add: adds an update, dense or sparse, multiplied by a rate to a vector.
#include "daemon/kernels/cuda/element.cuh"
#include "daemon/kernels/cuda/launch.cuh"
#include "daemon/kernels/cuda/operations.h"
#include "protocol/types.h"

namespace pace::kernels::cuda {
// A namespace without a name would put the path of this file into the plug-in (README.md).
namespace scatter_add_parts {

// The number of entries per thread. Their loads are in flight together.
constexpr int kEach = 4;

// The indices are distinct, so no two threads touch one element. Entries are loaded singly, because
// the slow part is the access to the indexed elements.
__global__ void __launch_bounds__(kBlockThreads)
    scatter_add_kernel(uint64_t count, uint64_t length, const uint32_t* __restrict__ indices,
                       const float* __restrict__ values, float rate, float* __restrict__ out) {
    const uint64_t first = uint64_t{blockIdx.x} * (kBlockThreads * kEach) + threadIdx.x;
    uint32_t index[kEach];
    float term[kEach];
    float was[kEach];
    bool is_there[kEach];
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
        const uint64_t entry = first + i * kBlockThreads;
        is_there[i] = entry < count;
        index[i] = is_there[i] ? indices[entry] : 0;
        term[i] = is_there[i] ? product(rate, values[entry]) : 0.0F;
    }
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
        is_there[i] = is_there[i] && index[i] < length;
        was[i] = is_there[i] ? out[index[i]] : 0.0F;
    }
#pragma unroll
    for (int i = 0; i < kEach; ++i)
        if (is_there[i]) out[index[i]] = canonical(total(was[i], term[i]));
}

// out = 1 * out + rate * values
int add_dense(const pace_device_scatter_add& add, void* stream) {
    pace_device_sum both = {};
    both.dtype = static_cast<pace_device_dtype>(protocol::DType::f32);
    both.input_count = 2;
    both.output_count = 1;
    both.count = add.count < add.length ? add.count : add.length;
    both.scale = 1.0;
    both.weights[0] = 1.0;
    both.weights[1] = add.rate;
    both.inputs[0] = add.out;
    both.inputs[1] = add.values;
    both.outputs[0] = add.out;
    return sum(&both, stream);
}

}  // namespace scatter_add_parts

using namespace scatter_add_parts;

int scatter_add(const pace_device_scatter_add* add, void* stream) {
    if (add->count == 0 || add->length == 0) return cudaSuccess;
    if (add->values == nullptr || add->out == nullptr) return cudaErrorInvalidValue;
    if (add->indices == nullptr) return add_dense(*add, stream);
    Queue queue(stream);
    queue.run<scatter_add_kernel>(divide_up(add->count, kBlockThreads * kEach), kBlockThreads,
                                  add->count, add->length, add->indices, add->values,
                                  static_cast<float>(add->rate), add->out);
    return queue.error();
}

}  // namespace pace::kernels::cuda
