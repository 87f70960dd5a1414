// HybridVector: a vector of floats of known length, kept as its entries while less than half of it is there, and whole
// from then on (Jiang et al., SIGMOD 2017, section 5.3, "Practical Optimization").
//
// Which of the two it is shows in its size and its speed alone: sums are made element by element in the order of the calls,
// so that a sparse sum has the same bits as a dense one. (The sign of a zero may differ.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "daemon/sparse/entries.h"

namespace pace::server {

class HybridVector {
  public:
    // Zeros.
    explicit HybridVector(size_t length = 0) : length_(length) {}
    // Of all elements; those that are zero take no room.
    static HybridVector of(std::span<const float> elements);
    // Indices are below `length`.
    static HybridVector of(size_t length, sparse::Entries entries);

    size_t length() const { return length_; }
    bool is_dense() const { return !dense_.empty(); }
    // Of elements that are there; more than there are different ones, where additions are not put together yet.
    size_t size() const { return is_dense() ? length_ : entries_.size() + added_entries_; }
    size_t bytes() const;

    // Adds it, element by element; the lengths are equal.
    void add(const HybridVector& other);

    // Puts additions together. Reading needs it: until the next add(), any thread may read.
    void settle();

    // out[i] += rate · element [first + i], each product rounded before it is added. Settled.
    void add_to(std::span<float> out, double rate, size_t first = 0) const;

    // Settled. One of the two is empty.
    const sparse::Entries& entries() const { return entries_; }
    std::span<const float> elements() const { return dense_; }

  private:
    void become_dense();
    void add_dense(const HybridVector& other);

    size_t length_;
    sparse::Entries entries_;
    std::vector<sparse::Entries> added_;  // to entries_, in order
    size_t added_entries_ = 0;
    std::vector<float> dense_;
};

}  // namespace pace::server
