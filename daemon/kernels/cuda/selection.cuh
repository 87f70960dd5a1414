// selection: what the steps of top_k hand to each other in device memory.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "daemon/kernels/cuda/pack.cuh"
#include "daemon/kernels/scan.h"

namespace pace::kernels::cuda {

// What is chosen is found by the bits of its magnitude (kernels/scan.h), from the most significant down: a digit at a time.
struct Digit {
    unsigned shift;
    unsigned bits;
    __host__ __device__ constexpr unsigned values() const { return 1U << bits; }
};
inline constexpr unsigned kDigits = 3;
inline constexpr Digit kDigit[kDigits] = {{20, 11}, {10, 10}, {0, 10}};
inline constexpr unsigned kDigitValuesMax = 2048;

// 0 for both zeros, kNanKey for NaN.
__device__ inline uint32_t key_of(float value) {
    return min(__float_as_uint(value) & 0x7FFFFFFFU, kNanKey);
}

// Chosen are all elements with a greater key, and the first `ties` of those with this one. A zero's key is never greater.
struct Cut {
    uint32_t key;
    uint32_t ties;
};

// A vector is gone through twice: first a pass over all of it leaves those elements that may be among the top k, which are
// few (narrow); then these, or the whole vector if they were not few, are cut exactly (choose).
enum class Stage : unsigned { narrow = 0, choose = 1 };

// The search as it stands. Zeros before it begins.
struct State {
    uint32_t sampled[kDigitValuesMax];  // how many elements of the sample have each first digit
    uint32_t counted[kDigits][kDigitValuesMax];
    Cut cuts[2];           // of each stage
    uint32_t candidates;   // how many `narrow` left
    uint32_t is_narrowed;  // they are enough, and there was room for them
    uint32_t is_settled;   // no more than k are not zero: all of them are chosen
    uint32_t prefix;       // digits found so far
    uint32_t rank;         // of the one sought, from 1, among those that have these digits
};

struct Selection {
    const float* in;
    uint64_t count;
    uint64_t k;
    uint32_t* out_indices;
    float* out_values;
    uint64_t* out_count;
    float* residual;  // or null

    uint64_t sample_lines;
    uint64_t sample_step;  // lines of the vector for one of the sample, in parts of 2^-32
    uint32_t sample_rank;  // `narrow` leaves what is as great as the one of this rank in the sample

    // In the workspace.
    uint64_t capacity;  // of the candidates
    State* state;
    uint64_t* tiles;  // elements marked in each tile, and then before it: marks_of() of both kinds
    uint32_t* above;  // a bit for every element: its key is greater than the cut's
    uint32_t* equal;  // the same as the cut's
    uint32_t* candidate_indices;
    float* candidate_values;
};

// What a stage looks at. Without indices an element's place is its index.
struct Range {
    const float* values;
    const uint32_t* indices;
    uint64_t count;
};

// All of the vector, or what the first stage has left of it.
template <Stage kStage>
__device__ Range range_of(const Selection& selection) {
    const State& state = *selection.state;
    if (kStage == Stage::narrow || state.is_narrowed == 0)
        return {selection.in, nullptr, selection.count};
    return {selection.candidate_values, selection.candidate_indices, state.candidates};
}

}  // namespace pace::kernels::cuda
