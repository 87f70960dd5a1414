// top_k: the k elements of greatest magnitude, exactly.
//
// Order: greater |value| first, equal ones by lower index; NaN counts above infinity (kernels/scan.h
// says why). A zero is never chosen, so that fewer than k may come back.
//
// About one pass and a bit over the vector: a sample of it gives a magnitude that a little more
// than k elements reach; one streaming pass collects those; a radix selection among them, which are
// few, finds the exact place of the cut. When the sample misled (too few collected) or cannot help
// (k is much of the vector, or many elements are equal), the radix selection runs over the whole
// vector instead: three more passes, the same result.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "daemon/kernels/pool.h"
#include "daemon/sparse/entries.h"

namespace pace::sparse {

// Buffers that lie apart, seen as one vector: indices count over all of them in order. Less than
// 2^32 elements together.
using Parts = std::span<const std::span<const float>>;

// Blocks until done; the pool's threads help. `parts` are only read.
Entries top_k(Parts parts, size_t k, kernels::WorkerPool& pool);
Entries top_k(std::span<const float> vector, size_t k, kernels::WorkerPool& pool);

// All elements whose kernels::magnitude_key() is at least `key_min` (1 to kNanKey), in order. Blocks;
// the pool's threads help.
Entries at_least(Parts parts, uint32_t key_min, kernels::WorkerPool& pool);

// Where to cut: chosen are all elements with a greater key, and the first `ties` of those with this
// one.
struct Cut {
    uint32_t key = 0;
    size_t ties = 0;
};

// The cut that leaves the top k, by radix selection; key 0 if no more than k are not zero.
Cut find_cut(Parts parts, size_t k, kernels::WorkerPool& pool);
Cut find_cut(std::span<const float> values, size_t k);

// What the top k of `entries` are, and the others but for zeros, which are dropped.
struct Split {
    Entries kept;
    Entries rest;
};
Split split_top_k(const Entries& entries, size_t k);

}  // namespace pace::sparse
