// Packed: the elements of a layout's segments as one vector without the padding between segments.
// Sparse exchanges cut and number this vector.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "daemon/collectives/layout/layout.h"

namespace pace::sparse {

class Packed {
  public:
    explicit Packed(const collectives::Layout& layout) : layout_(layout), begins_{0} {
        for (const collectives::Segment& segment : layout.segments())
            begins_.push_back(begins_.back() + segment.count);
    }

    const collectives::Layout& layout() const { return layout_; }
    size_t count() const { return begins_.back(); }
    size_t begin(size_t segment) const { return begins_[segment]; }

    // Calls visit(segment, first element within the segment, count, place in the packed vector) for
    // each piece of [begin, end), in order.
    template <typename Visit>
    void for_each(size_t begin, size_t end, Visit&& visit) const {
        const auto after = std::upper_bound(begins_.begin(), begins_.end(), begin);
        for (auto segment = static_cast<size_t>(after - begins_.begin()) - 1;
             segment + 1 < begins_.size() && begins_[segment] < end; ++segment) {
            const size_t from = std::max(begin, begins_[segment]);
            const size_t to = std::min(end, begins_[segment + 1]);
            if (from < to) visit(segment, from - begins_[segment], to - from, from);
        }
    }

  private:
    const collectives::Layout& layout_;
    std::vector<size_t> begins_;  // one for each segment, then the count
};

}  // namespace pace::sparse
