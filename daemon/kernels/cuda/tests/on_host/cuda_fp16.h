// The conversions of halves that kernels use, on the host.
#pragma once

#include <cstdint>

#include "base/half.h"

struct __half {
    uint16_t bits;
};

inline __half __ushort_as_half(uint16_t bits) {
    return {bits};
}
inline uint16_t __half_as_ushort(__half half) {
    return half.bits;
}
inline float __half2float(__half half) {
    return pace::base::float_from_f16(half.bits);
}
inline __half __float2half_rn(float value) {
    return {pace::base::f16_from_float(value)};
}
