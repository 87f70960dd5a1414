// mix: a hash of 64-bit values for digests and numbers that need not be secret. The mixing is
// SplitMix64's finalizer, before and after a value is taken in, so that small numbers in a row do
// not meet. It is no cryptography: whoever knows a state and a result knows the rest.
#pragma once

#include <cstdint>

namespace pace::daemon {

constexpr uint64_t scatter(uint64_t z) {
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31U);
}

constexpr uint64_t mix(uint64_t state, uint64_t value) {
    return scatter(scatter(state + 0x9E3779B97F4A7C15U) ^ value);
}

}  // namespace pace::daemon
