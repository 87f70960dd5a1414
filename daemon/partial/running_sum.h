// RunningSum: the sum of results of one layout, in the order in which they are added.
//
//     S_1 = r_1,  S_(i+1) = S_i + r_(i+1)
//
// element by element, each addition rounded to the accumulator's type: f64 for f64, f32 for all
// else. Half types are kept in f32 and rounded once, when they are written out. So the bits depend
// on the results and their order alone. Results that are not a number stay so; the payload is not
// kept. Costs the layout's bytes, twice those for half types.
//
// All but begin() works on a range of the results' bytes, whose elements it has whole: threads may share a pass. Every pass is over
// when the next begins.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/block.h"
#include "base/result.h"
#include "daemon/collectives/layout.h"

namespace pace::partial {

class RunningSum {
  public:
    // Of results that are laid out so, the first of which is still to be set. ErrorKind::memory.
    static base::Result<RunningSum> begin(const collectives::Layout& layout);

    void set(collectives::ByteRange range, const std::byte* result) { put(range, result, true); }
    void add(collectives::ByteRange range, const std::byte* result) { put(range, result, false); }

    // Writes the sum to a pointer per segment, ignored where that is empty.
    void write(collectives::ByteRange range, std::span<std::byte* const> segments) const;

    const collectives::Layout& layout() const { return layout_; }
    // What it takes.
    size_t bytes() const { return sum_.size(); }

  private:
    RunningSum() = default;
    std::byte* element(const collectives::Piece& piece) const;
    void put(collectives::ByteRange range, const std::byte* result, bool is_first);

    collectives::Layout layout_;  // of the results
    collectives::Layout wide_;    // of the sum: half segments are f32
    base::Block sum_;
};

}  // namespace pace::partial
