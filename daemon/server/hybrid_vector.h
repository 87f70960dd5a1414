// HybridVector: a vector of floats of known length. It is stored as entries while less than half of
// its elements are present. From then on it is dense (Jiang et al., SIGMOD 2017, section 5.3,
// "Practical Optimization").
//
// The form affects only size and speed. Sums are made element by element in the order of the calls,
// so a sparse sum has the same bits as a dense one. (The sign of a zero may differ.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "daemon/sparse/wire/entries.h"

namespace pace::server {

class HybridVector {
  public:
    // A vector of zeros.
    explicit HybridVector(size_t length = 0) : length_(length) {}
    // Makes a vector of all elements. Zeros take no memory.
    static HybridVector of(std::span<const float> elements);
    // All indices must be below `length`.
    static HybridVector of(size_t length, sparse::Entries entries);

    size_t length() const { return length_; }
    bool is_dense() const { return !dense_.empty(); }
    // Number of stored elements. Unsettled additions may count an element more than once.
    size_t size() const { return is_dense() ? length_ : entries_.size() + added_entries_; }
    size_t bytes() const;

    // Adds `other` element by element. The lengths must be equal.
    void add(const HybridVector& other);

    // Combines the additions, as reading requires. Until the next add(), any thread may read.
    void settle();

    // Computes out[i] += rate · element [first + i]. Each product is rounded before it is added.
    // The vector must be settled.
    void add_to(std::span<float> out, double rate, size_t first = 0) const;

    // The vector must be settled. One of the two functions returns nothing.
    const sparse::Entries& entries() const { return entries_; }
    std::span<const float> elements() const { return dense_; }

  private:
    void become_dense();
    void add_dense(const HybridVector& other);

    size_t length_;
    sparse::Entries entries_;
    std::vector<sparse::Entries> added_;  // additions to entries_, in order
    size_t added_entries_ = 0;
    std::vector<float> dense_;
};

}  // namespace pace::server
