// gather and scatter: read and write a few elements of a vector by their indices.
#include "daemon/kernels/cuda/launch.cuh"
#include "daemon/kernels/cuda/operations.h"

namespace pace::kernels::cuda {
// A namespace without a name would put the path of this file into the plug-in (README.md).
namespace gather_scatter_parts {

// The number of entries per thread. Their loads are in flight together.
constexpr int kEach = 4;

__global__ void __launch_bounds__(kBlockThreads)
    gather_kernel(uint64_t count, uint64_t length, const uint32_t* __restrict__ indices,
                  const float* __restrict__ in, float* __restrict__ values) {
    const uint64_t first = uint64_t{blockIdx.x} * (kBlockThreads * kEach) + threadIdx.x;
    uint32_t index[kEach];
    float value[kEach];
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
        const uint64_t entry = first + i * kBlockThreads;
        index[i] = entry < count ? indices[entry] : 0;
    }
#pragma unroll
    for (int i = 0; i < kEach; ++i) value[i] = index[i] < length ? in[index[i]] : 0.0F;
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
        const uint64_t entry = first + i * kBlockThreads;
        if (entry < count) values[entry] = value[i];
    }
}

// Stores wait for nothing, so one entry per thread is enough.
template <typename Element>
__global__ void __launch_bounds__(kBlockThreads)
    scatter_kernel(uint64_t count, uint64_t length, const uint32_t* __restrict__ indices,
                   const Element* __restrict__ values, Element* __restrict__ out) {
    const uint64_t entry = uint64_t{blockIdx.x} * kBlockThreads + threadIdx.x;
    if (entry >= count) return;
    const uint32_t index = indices[entry];
    if (index < length) out[index] = values[entry];
}

template <typename Element>
int scatter_as(const pace_device_scatter& scatter, void* stream) {
    Queue queue(stream);
    queue.run<scatter_kernel<Element>>(divide_up(scatter.count, kBlockThreads), kBlockThreads,
                                       scatter.count, scatter.length, scatter.indices,
                                       static_cast<const Element*>(scatter.values),
                                       static_cast<Element*>(scatter.out));
    return queue.error();
}

}  // namespace gather_scatter_parts

using namespace gather_scatter_parts;

int gather(const pace_device_gather* gather, void* stream) {
    if (gather->count == 0) return cudaSuccess;
    if (gather->indices == nullptr || gather->in == nullptr || gather->values == nullptr)
        return cudaErrorInvalidValue;
    Queue queue(stream);
    queue.run<gather_kernel>(divide_up(gather->count, kBlockThreads * kEach), kBlockThreads,
                             gather->count, gather->length, gather->indices, gather->in,
                             gather->values);
    return queue.error();
}

int scatter(const pace_device_scatter* scatter, void* stream) {
    if (scatter->count == 0) return cudaSuccess;
    if (scatter->indices == nullptr || scatter->values == nullptr || scatter->out == nullptr)
        return cudaErrorInvalidValue;
    switch (scatter->element_bytes) {
        case 2:
            return scatter_as<uint16_t>(*scatter, stream);
        case 4:
            return scatter_as<uint32_t>(*scatter, stream);
        case 8:
            return scatter_as<uint64_t>(*scatter, stream);
        default:
            return cudaErrorInvalidValue;
    }
}

}  // namespace pace::kernels::cuda
