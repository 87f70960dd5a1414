// element: the element types of buffers. It converts elements to accumulators and rounds
// accumulators back, bit by bit as daemon/kernels/reduce.h and base/half.h define.
#pragma once

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>

namespace pace::kernels::cuda {

// Turns any NaN into the positive quiet NaN without payload.
__device__ inline float canonical(float value) {
    return value == value ? value : __uint_as_float(0x7FC00000U);
}

__device__ inline double canonical(double value) {
    return value == value ? value : __longlong_as_double(0x7FF8000000000000LL);
}

// These operations are never fused, whatever the compiler's options.
__device__ inline float product(float a, float b) {
    return __fmul_rn(a, b);
}
__device__ inline double product(double a, double b) {
    return __dmul_rn(a, b);
}
__device__ inline float total(float a, float b) {
    return __fadd_rn(a, b);
}
__device__ inline double total(double a, double b) {
    return __dadd_rn(a, b);
}

struct F32 {
    using Element = float;
    using Accumulator = float;
    __device__ static float widen(float element) { return element; }
    __device__ static float round(float value) { return canonical(value); }
};

struct F64 {
    using Element = double;
    using Accumulator = double;
    __device__ static double widen(double element) { return element; }
    __device__ static double round(double value) { return canonical(value); }
};

struct F16 {
    using Element = uint16_t;
    using Accumulator = float;
    __device__ static float widen(uint16_t element) {
        return __half2float(__ushort_as_half(element));
    }
    // The GPU's own conversion rounds like half.h, but gives another NaN.
    __device__ static uint16_t round(float value) {
        const uint16_t rounded = __half_as_ushort(__float2half_rn(value));
        return value == value ? rounded : uint16_t{0x7E00};
    }
};

struct Bf16 {
    using Element = uint16_t;
    using Accumulator = float;
    __device__ static float widen(uint16_t element) {
        return __uint_as_float(static_cast<uint32_t>(element) << 16U);
    }
    // This is integer arithmetic, since not every architecture has a rounding instruction.
    __device__ static uint16_t round(float value) {
        uint32_t bits = __float_as_uint(canonical(value));
        bits += 0x7FFFU + ((bits >> 16U) & 1U);
        return static_cast<uint16_t>(bits >> 16U);
    }
};

}  // namespace pace::kernels::cuda
