// headroom: a power of two that moves from a sum's scale to its weights, so that a sum of finite values that is scaled to a mean does not
// overflow before it is scaled.
//
// It changes no bit as long as all products are normal numbers. A smaller one loses at most the bits that a mean loses, too.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>

namespace pace::kernels {

// By which the weights are multiplied, and the scale is divided: no less than 1/sources or than the scale requires. 1 for a
// sum that is not scaled down, and for a single source.
inline double headroom(size_t sources, double scale) {
    if (sources < 2 || !(std::abs(scale) < 1)) return 1.0;
    int exponent = 0;
    std::frexp(scale, &exponent);  // scale = f * 2^exponent, f at least a half and below 1
    const int bits = std::countr_zero(std::bit_ceil(sources));
    return std::ldexp(1.0, -std::min(bits, 1 - exponent));
}

}  // namespace pace::kernels
