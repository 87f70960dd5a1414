// tile: the stretch of a vector that one warp processes in rounds. Each lane loads its four packs
// of a round before it uses the first.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "daemon/kernels/cuda/pack.cuh"
#include "daemon/kernels/cuda/warp.cuh"

namespace pace::kernels::cuda {

inline constexpr unsigned kPackFloats = kPackBytes / sizeof(float);
inline constexpr unsigned kRoundPacks = 4;
inline constexpr unsigned kRoundElements = kRoundPacks * kWarpThreads * kPackFloats;
inline constexpr unsigned kTileRounds = 4;
inline constexpr unsigned kTileElements = kTileRounds * kRoundElements;
// The number of words of marks.
inline constexpr unsigned kTileWords = kTileElements / 32;

__host__ __device__ constexpr uint64_t tiles_of(uint64_t count) {
    return divide_up(count, kTileElements);
}

// One lane's share of a round.
struct Round {
    Pack<float, kPackFloats> packs[kRoundPacks];
};

// Loads the round whose first element is `begin`, with zeros beyond `count`. `aligned` means that
// packs can be loaded whole.
__device__ inline Round load_round(const float* values, uint64_t begin, uint64_t count,
                                   bool aligned, unsigned lane) {
    Round round;
    if (aligned && begin + kRoundElements <= count) {
#pragma unroll
        for (unsigned p = 0; p < kRoundPacks; ++p)
            round.packs[p] =
                load_pack<kPackFloats>(values + begin + (p * kWarpThreads + lane) * kPackFloats);
        return round;
    }
#pragma unroll
    for (unsigned p = 0; p < kRoundPacks; ++p)
#pragma unroll
        for (unsigned i = 0; i < kPackFloats; ++i) {
            const uint64_t element = begin + (p * kWarpThreads + lane) * kPackFloats + i;
            round.packs[p].at[i] = element < count ? values[element] : 0.0F;
        }
    return round;
}

__device__ inline void store_round(float* values, uint64_t begin, uint64_t count, bool aligned,
                                   unsigned lane, const Round& round) {
    if (aligned && begin + kRoundElements <= count) {
#pragma unroll
        for (unsigned p = 0; p < kRoundPacks; ++p)
            store_pack<kPackFloats>(values + begin + (p * kWarpThreads + lane) * kPackFloats,
                                    round.packs[p]);
        return;
    }
#pragma unroll
    for (unsigned p = 0; p < kRoundPacks; ++p)
#pragma unroll
        for (unsigned i = 0; i < kPackFloats; ++i) {
            const uint64_t element = begin + (p * kWarpThreads + lane) * kPackFloats + i;
            if (element < count) values[element] = round.packs[p].at[i];
        }
}

}  // namespace pace::kernels::cuda
