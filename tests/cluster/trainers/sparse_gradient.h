// The gradients of the sparse trainers. The trainers and the tests compute them. They are small
// whole numbers, so that sums are exact.
#pragma once

#include <cstdint>

namespace pace::cluster {

// Most elements have one worker that contributes to them, so that they show this worker alone.
// Every worker contributes to every fourth row.
constexpr bool gives_to(uint32_t rank, uint32_t world, uint64_t element) {
    return element % world == rank || (element / world) % 4 == 0;
}

// Returns a value from -8 to 8.
constexpr float gradient_of(uint32_t rank, uint32_t world, uint64_t step, uint64_t element) {
    if (!gives_to(rank, world, element)) return 0;
    uint64_t z = (step * world + rank) * 0x9E3779B97F4A7C15U + element * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 29U)) * 0x94D049BB133111EBU;
    return static_cast<float>((z >> 33U) % 17) - 8;
}

}  // namespace pace::cluster
