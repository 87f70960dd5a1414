// RunningSum: the sum of results of one layout, in the order in which they are added.
//
//     S_1 = r_1,  S_(i+1) = S_i + r_(i+1)
//
// Elements are added one by one. Each addition is rounded to the accumulator's type: f64 for f64,
// f32 for all other types. Half types are kept in f32 and rounded once, when they are written out.
// So the bits depend only on the results and their order. A NaN stays a NaN, but its payload is not
// kept. The memory is the layout's bytes, and twice those for half types.
//
// All functions but begin() work on a range of the results' bytes. The range has only whole
// elements, so threads may share a pass. A pass must be over before the next begins.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/memory/block.h"
#include "base/result.h"
#include "daemon/collectives/layout/layout.h"

namespace pace::partial {

class RunningSum {
  public:
    // A sum of results of this layout. The first result must still be set. Returns
    // ErrorKind::memory if there is no memory.
    static base::Result<RunningSum> begin(const collectives::Layout& layout);

    void set(collectives::ByteRange range, const std::byte* result) { put(range, result, true); }
    void add(collectives::ByteRange range, const std::byte* result) { put(range, result, false); }

    // Writes the sum to one pointer per segment. The pointer of an empty segment is ignored.
    void write(collectives::ByteRange range, std::span<std::byte* const> segments) const;

    const collectives::Layout& layout() const { return layout_; }
    // The memory of the sum.
    size_t bytes() const { return sum_.size(); }

  private:
    RunningSum() = default;
    std::byte* element(const collectives::Piece& piece) const;
    void put(collectives::ByteRange range, const std::byte* result, bool is_first);

    collectives::Layout layout_;  // the results' layout
    collectives::Layout wide_;    // the sum's layout: half segments are f32
    base::Block sum_;
};

}  // namespace pace::partial
