// top_k: selects the k elements of greatest magnitude, exactly.
//
// Order: greater |value| first. Among equal magnitudes, the lower index first. NaN counts as
// greater than infinity (kernels/scan.h says why). A zero is never chosen, so fewer than k elements
// may come back.
//
// The selection takes little more than one pass over the vector. A sample of the vector gives a
// magnitude that a little more than k elements reach. One streaming pass collects these few
// elements. A radix selection among them finds the exact place of the cut. The sample may mislead
// (too few elements are collected). It may also be useless (k is a large part of the vector, or
// many elements are equal). Then the radix selection runs over the whole vector instead, with three
// more passes and the same result.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "daemon/kernels/pool.h"
#include "daemon/sparse/wire/entries.h"

namespace pace::sparse {

// Separate buffers as one vector. Indices count over all buffers in order. The buffers have less
// than 2^32 elements together.
using Parts = std::span<const std::span<const float>>;

// Blocks until done. The pool's threads help. `parts` are only read.
Entries top_k(Parts parts, size_t k, kernels::WorkerPool& pool);
Entries top_k(std::span<const float> vector, size_t k, kernels::WorkerPool& pool);

// All elements whose kernels::magnitude_key() is at least `key_min` (1 to kNanKey), in order.
// Blocks until done. The pool's threads help.
Entries at_least(Parts parts, uint32_t key_min, kernels::WorkerPool& pool);

// The place of a cut. All elements with a greater key are chosen, and the first `ties` elements
// with this key.
struct Cut {
    uint32_t key = 0;
    size_t ties = 0;
};

// The cut that leaves the top k, by radix selection. The key is 0 if at most k elements are not
// zero.
Cut find_cut(Parts parts, size_t k, kernels::WorkerPool& pool);
Cut find_cut(std::span<const float> values, size_t k);

// The top k of `entries`, and the other entries. Zeros are dropped.
struct Split {
    Entries kept;
    Entries rest;
};
Split split_top_k(const Entries& entries, size_t k);

}  // namespace pace::sparse
