// RunningSum: the sum of results of one layout, in the order in which they are added.
//
//     S_1 = r_1,  S_(i+1) = S_i + r_(i+1)
//
// element by element, each addition rounded to the accumulator's type: f64 for f64, f32 for all
// else. Half types are kept in f32 and rounded once, when they are written out. So the bits depend
// on the results and their order alone. Results that are not a number stay so; the payload is not
// kept. Costs the layout's bytes, twice those for half types. One thread; blocks for one pass.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "daemon/collectives/layout.h"

namespace pace::partial {

class RunningSum {
  public:
    // `result` is laid out as `layout` says. ErrorKind::memory.
    static base::Result<RunningSum> begin(const collectives::Layout& layout,
                                          const std::byte* result);

    void add(const std::byte* result);

    // Writes the sum to a pointer per segment, ignored where that is empty.
    void write(std::span<std::byte* const> segments) const;

  private:
    RunningSum() = default;

    collectives::Layout layout_;  // of the results
    collectives::Layout wide_;    // of the sum: half segments are f32
    std::unique_ptr<std::byte[]> sum_;
};

}  // namespace pace::partial
