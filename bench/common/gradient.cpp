#include "bench/common/gradient.h"

#include <random>

namespace pace::bench {

std::vector<float> make_gradient(size_t count, uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<float> gradient(count);
    for (float& value : gradient) {
        // One draw gives three numbers of 21 bits.
        const uint64_t bits = random();
        constexpr uint64_t kMask = (1 << 21) - 1;
        const uint64_t sum = (bits & kMask) + (bits >> 21 & kMask) + (bits >> 42 & kMask);
        const double u = static_cast<double>(sum) / static_cast<double>(kMask) - 1.5;
        value = static_cast<float>(1e-3 * u * u * u);
    }
    return gradient;
}

}  // namespace pace::bench
