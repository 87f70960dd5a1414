// headroom: a power of two that is moved from a sum's scale to its weights. So a mean of finite
// values does not overflow before it is scaled.
//
// No bit changes while all products are normal numbers. A smaller product loses at most the bits
// that a mean loses, too.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>

namespace pace::kernels {

// Returns the factor of the weights, which is also the divisor of the scale. The factor is no less
// than 1/sources and no less than the scale requires. It is 1 for a sum that is not scaled down,
// and for a single source.
inline double headroom(size_t sources, double scale) {
    if (sources < 2 || !(std::abs(scale) < 1)) return 1.0;
    int exponent = 0;
    std::frexp(scale, &exponent);  // scale = f * 2^exponent, 0.5 <= f < 1
    const int bits = std::countr_zero(std::bit_ceil(sources));
    return std::ldexp(1.0, -std::min(bits, 1 - exponent));
}

}  // namespace pace::kernels
