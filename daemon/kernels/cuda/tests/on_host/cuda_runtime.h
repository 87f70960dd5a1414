// What kernels without shared memory need of CUDA's runtime, on the host: a launch calls the kernel
// for one thread after another. So their arithmetic and their indices are tested on machines
// without a GPU.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#define __device__
#define __host__
#define __global__
#define __grid_constant__
#define __launch_bounds__(threads)

struct dim3 {
    unsigned x = 0;
    dim3(unsigned count = 1) : x(count) {}  // as CUDA's, not explicit
};

// The thread that runs now.
inline dim3 blockIdx;
inline dim3 threadIdx;
// How many kernels have been launched.
inline int launches = 0;

using cudaError_t = int;
using cudaStream_t = void*;
inline constexpr cudaError_t cudaSuccess = 0;
inline constexpr cudaError_t cudaErrorInvalidValue = 1;
inline constexpr cudaError_t cudaErrorInvalidConfiguration = 9;
inline constexpr int cudaMemcpyDeviceToDevice = 3;
inline constexpr int cudaDevAttrMultiProcessorCount = 16;

struct cudaLaunchConfig_t {
    dim3 gridDim;
    dim3 blockDim;
    cudaStream_t stream = nullptr;
};

template <typename Kernel, typename... Arguments>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, Kernel* kernel,
                               Arguments&&... arguments) {
    ++launches;
    for (blockIdx.x = 0; blockIdx.x < config->gridDim.x; ++blockIdx.x)
        for (threadIdx.x = 0; threadIdx.x < config->blockDim.x; ++threadIdx.x) kernel(arguments...);
    return cudaSuccess;
}

inline cudaError_t cudaMemsetAsync(void* memory, int value, size_t bytes, cudaStream_t) {
    std::memset(memory, value, bytes);
    return cudaSuccess;
}
inline cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, int, cudaStream_t) {
    std::memcpy(to, from, bytes);
    return cudaSuccess;
}
inline cudaError_t cudaGetDevice(int* ret_device) {
    *ret_device = 0;
    return cudaSuccess;
}
inline cudaError_t cudaDeviceGetAttribute(int* ret_value, int, int) {
    *ret_value = 4;
    return cudaSuccess;
}

inline float __uint_as_float(uint32_t bits) {
    return std::bit_cast<float>(bits);
}
inline uint32_t __float_as_uint(float value) {
    return std::bit_cast<uint32_t>(value);
}
inline double __longlong_as_double(long long bits) {
    return std::bit_cast<double>(bits);
}
inline float __fmul_rn(float a, float b) {
    return a * b;
}
inline double __dmul_rn(double a, double b) {
    return a * b;
}
inline float __fadd_rn(float a, float b) {
    return a + b;
}
inline double __dadd_rn(double a, double b) {
    return a + b;
}
