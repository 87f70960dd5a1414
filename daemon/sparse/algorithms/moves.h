// Moves: how chosen entries move so that, in order, all ranks have equally many (Ok-Topk).
//
// Rank r then has the numbers total·r/P up to total·(r+1)/P. If the range of one rank before the
// move and the range of another rank after the move overlap, the overlap goes from the one to the
// other.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "daemon/sparse/wire/division.h"

namespace pace::sparse {

class Moves {
  public:
    // Takes the number of entries that each rank has before.
    explicit Moves(const std::vector<size_t>& counts) {
        for (const size_t count : counts) before_.push_back(before_.back() + count);
    }

    // The number of the rank's first entry before the move.
    size_t first(size_t rank) const { return before_[rank]; }
    // The numbers of the entries that one rank has before, and the other after the move.
    Block between(size_t from, size_t to) const {
        const size_t P = before_.size() - 1;
        const size_t total = before_.back();
        const size_t begin = std::max(before_[from], total * to / P);
        const size_t end = std::min(before_[from + 1], total * (to + 1) / P);
        return {std::min(begin, end), end, 0};
    }

  private:
    std::vector<size_t> before_{0};
};

}  // namespace pace::sparse
