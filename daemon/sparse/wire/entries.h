// Entries: the chosen elements of a vector or of one of its blocks, as two columns sorted by index
// (coordinate format, COO). Indices are strictly increasing and count from the start of the block.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/memory/large_vector.h"

namespace pace::sparse {

struct Entries {
    base::LargeVector<uint32_t> indices;
    base::LargeVector<float> values;

    size_t size() const { return indices.size(); }
    bool empty() const { return indices.empty(); }
    void reserve(size_t count) {
        indices.reserve(count);
        values.reserve(count);
    }
    void push_back(uint32_t index, float value) {
        indices.push_back(index);
        values.push_back(value);
    }
    void append(const uint32_t* more_indices, const float* more_values, size_t count) {
        indices.insert(indices.end(), more_indices, more_indices + count);
        values.insert(values.end(), more_values, more_values + count);
    }
};

// A sum that gives the same NaN everywhere. Processors differ in which operand's payload a NaN
// keeps, but all workers must hold the same bits.
inline float add(float a, float b) {
    const float sum = a + b;
    return sum == sum ? sum : std::numeric_limits<float>::quiet_NaN();
}

// The union of both lists. Values of equal indices are added. Sums that are zero stay.
Entries sum(const Entries& a, const Entries& b);

// The sum of many lists. Neighbours are summed first, and then their sums. The lists' places fix
// the order, so all who sum the same lists get the same bits. O(total · log lists).
Entries sum_all(std::vector<Entries> lists);

// The number of entries of all lists together.
size_t entries_of(const std::vector<Entries>& lists);

// Removes the entries that are zero.
void drop_zeros(Entries& entries);

// The entries with begin <= index < end. The returned indices count from `begin`.
Entries slice(const Entries& entries, size_t begin, size_t end);

// Appends `block`, whose indices count from `begin`. All indices in `all` must be less than those
// of `block`.
void append_block(Entries& all, const Entries& block, size_t begin);

}  // namespace pace::sparse
