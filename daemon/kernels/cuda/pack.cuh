// pack: adjacent elements that one instruction moves, and the division of a range into such packs.
//
// A range consists of `head` single elements, whole packs, and `tail` single elements. The threads
// of a block take neighboring packs, so that a warp accesses one contiguous piece. Every thread has
// several loads in flight. The first block also handles the single elements.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "daemon/kernels/cuda/launch.cuh"

namespace pace::kernels::cuda {

// The greatest number of bytes that one thread loads at once.
inline constexpr unsigned kPackBytes = 16;

template <typename Element, int kWidth>
struct alignas(sizeof(Element) * kWidth < kPackBytes ? sizeof(Element) * kWidth : kPackBytes) Pack {
    Element at[kWidth];
};

template <int kWidth, typename Element>
__device__ Pack<Element, kWidth> load_pack(const Element* from) {
    return *reinterpret_cast<const Pack<Element, kWidth>*>(from);
}

template <int kWidth, typename Element>
__device__ void store_pack(Element* to, const Pack<Element, kWidth>& pack) {
    *reinterpret_cast<Pack<Element, kWidth>*>(to) = pack;
}

__host__ __device__ inline bool is_aligned(const void* pointer) {
    return reinterpret_cast<uintptr_t>(pointer) % kPackBytes == 0;
}

// Returns the number of elements of `size` bytes until `pointer` is aligned to a pack. `pointer`
// must be aligned to its element.
inline unsigned elements_before(const void* pointer, unsigned size) {
    const auto beyond = static_cast<unsigned>(reinterpret_cast<uintptr_t>(pointer) % kPackBytes);
    return beyond == 0 ? 0 : (kPackBytes - beyond) / size;
}

struct Packing {
    // The number of elements of a pack. 1 means that all elements are moved singly.
    unsigned width;
    unsigned head;
    unsigned tail;
    uint64_t packs;

    __host__ __device__ Packing(uint64_t count, unsigned pack_width, unsigned elements_before_packs)
        : width(pack_width),
          head(
              static_cast<unsigned>(count < elements_before_packs ? count : elements_before_packs)),
          tail(static_cast<unsigned>((count - head) % pack_width)),
          packs((count - head) / pack_width) {}

    // Returns the number of blocks for threads that take `packs_each` packs each. There is at least
    // one block, for the single elements.
    uint64_t blocks(unsigned packs_each) const {
        const uint64_t blocks = divide_up(packs, uint64_t{kBlockThreads} * packs_each);
        return blocks > 0 ? blocks : 1;
    }
};

// The elements of one call of a body. There are `packs` packs of `width` elements. Each pack is
// kBlockThreads packs behind the previous one.
template <int kWidthOf, int kPacksOf>
struct Share {
    static constexpr int kWidth = kWidthOf;
    static constexpr int kPacks = kPacksOf;
    static constexpr int kStep = static_cast<int>(kBlockThreads) * kWidth;  // in elements
};

// Calls body(Share, first element) for this thread's elements, in block `block` of those that the
// packing needs. kWidth equals packing.width.
template <int kWidth, int kPacks, typename Body>
__device__ void for_each_share(const Packing& packing, unsigned block, Body body) {
    const uint64_t first = uint64_t{block} * (kBlockThreads * kPacks) + threadIdx.x;
    if (first + (kPacks - 1) * kBlockThreads < packing.packs) {
        body(Share<kWidth, kPacks>(), packing.head + first * kWidth);
    } else {
        for (uint64_t pack = first; pack < packing.packs; pack += kBlockThreads)
            body(Share<kWidth, 1>(), packing.head + pack * kWidth);
    }
    if (block == 0 && threadIdx.x < packing.head + packing.tail) {
        const uint64_t behind_packs = packing.packs * kWidth;
        body(Share<1, 1>(), threadIdx.x + (threadIdx.x < packing.head ? 0 : behind_packs));
    }
}

}  // namespace pace::kernels::cuda
