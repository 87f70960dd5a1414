// selection: the data that the steps of top_k pass on in device memory.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "daemon/kernels/cuda/pack.cuh"
#include "daemon/kernels/scan.h"

namespace pace::kernels::cuda {

// Selection compares the bits of the magnitude (kernels/scan.h), one digit at a time, beginning
// with the most significant digit.
struct Digit {
    unsigned shift;
    unsigned bits;
    __host__ __device__ constexpr unsigned values() const { return 1U << bits; }
};
inline constexpr unsigned kDigits = 3;
inline constexpr Digit kDigit[kDigits] = {{20, 11}, {10, 10}, {0, 10}};
inline constexpr unsigned kDigitValuesMax = 2048;

// The key is 0 for both zeros, and kNanKey for NaN.
__device__ inline uint32_t key_of(float value) {
    return min(__float_as_uint(value) & 0x7FFFFFFFU, kNanKey);
}

// A cut chooses all elements with a greater key, and the first `ties` elements with this key. A
// zero's key is never greater.
struct Cut {
    uint32_t key;
    uint32_t ties;
};

// A vector is processed twice. First a pass over the whole vector keeps the elements that may be
// among the top k (narrow). If these elements are few, they are then cut exactly (choose).
// Otherwise the whole vector is cut exactly.
enum class Stage : unsigned { narrow = 0, choose = 1 };

// The state of the search. All fields are zero before the search begins.
struct State {
    // The number of elements of the sample, by first digit.
    uint32_t sampled[kDigitValuesMax];
    uint32_t counted[kDigits][kDigitValuesMax];
    Cut cuts[2];  // of each stage
    // The number of elements that `narrow` kept.
    uint32_t candidates;
    // The candidates are enough, and there was room for them.
    uint32_t is_narrowed;
    // At most k elements are not zero. All of them are chosen.
    uint32_t is_settled;
    // The digits found so far.
    uint32_t prefix;
    // The rank of the sought element, counted from 1, among the elements that have these digits.
    uint32_t rank;
};

struct Selection {
    const float* in;
    uint64_t count;
    uint64_t k;
    uint32_t* out_indices;
    float* out_values;
    uint64_t* out_count;
    float* residual;  // may be null

    uint64_t sample_lines;
    // The number of lines of the vector per sampled line, in units of 2^-32.
    uint64_t sample_step;
    // `narrow` keeps elements as great as the sample's element of this rank.
    uint32_t sample_rank;

    // The fields from here on are in the workspace. `capacity` is the room for candidates.
    uint64_t capacity;
    State* state;
    // The number of marked elements of each tile, later of the tiles before it. The numbers are
    // marks_of() of both kinds.
    uint64_t* tiles;
    // One bit per element. It tells whether the element's key is greater than the cut's.
    uint32_t* above;
    // One bit per element. It tells whether the element's key equals the cut's.
    uint32_t* equal;
    uint32_t* candidate_indices;
    float* candidate_values;
};

// The elements that a stage looks at. Without indices an element's place is its index.
struct Range {
    const float* values;
    const uint32_t* indices;
    uint64_t count;
};

// Returns the whole vector, or the elements that the first stage kept.
template <Stage kStage>
__device__ Range range_of(const Selection& selection) {
    const State& state = *selection.state;
    if (kStage == Stage::narrow || state.is_narrowed == 0)
        return {selection.in, nullptr, selection.count};
    return {selection.candidate_values, selection.candidate_indices, state.candidates};
}

}  // namespace pace::kernels::cuda
