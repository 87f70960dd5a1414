// Division: the blocks of a vector, the number of elements that each block may send, and the bags
// in which a worker of Spar-Reduce-Scatter keeps the blocks (SparDL, section 3.1, "Dividing").
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <vector>

namespace pace::sparse {

// max(1, round(length · density)), but never more than the length. At least one, so that no block
// is excluded forever.
inline size_t top_count(size_t length, double density) {
    if (length == 0) return 0;
    const double wanted = std::round(static_cast<double>(length) * density);
    if (!(wanted < static_cast<double>(length))) return length;
    return std::max<size_t>(1, static_cast<size_t>(wanted));
}

struct Block {
    size_t begin = 0;
    size_t end = 0;
    size_t k = 0;  // the number of elements that the block is cut to
    size_t length() const { return end - begin; }
};

class Division {
  public:
    // `count` elements in `blocks` > 0 blocks whose lengths differ by at most one. If there are
    // fewer elements than blocks, some blocks are empty.
    Division(size_t count, size_t blocks, double density)
        : count_(count), blocks_(blocks), density_(density) {}

    size_t count() const { return count_; }
    size_t blocks() const { return blocks_; }
    Block block(size_t index) const {
        Block block{count_ * index / blocks_, count_ * (index + 1) / blocks_, 0};
        block.k = top_count(block.length(), density_);
        return block;
    }

  private:
    size_t count_;
    size_t blocks_;
    double density_;
};

// ⌈log2 P⌉: the number of steps of Spar-Reduce-Scatter and of Bruck's all-gather, and the number of
// sending bags.
inline size_t steps_of(size_t workers) {
    return workers <= 1 ? 0 : static_cast<size_t>(std::bit_width(workers - 1));
}

// The blocks of bag B_j of worker w, in the order in which they are put into the bag. B_0 = {w}.
// B_j has w + 2^(j-1) … w + 2^j - 1 modulo P. The last bag has only the E = P - 2^(l-1) blocks that
// remain.
inline std::vector<size_t> bag_of(size_t workers, size_t worker, size_t bag) {
    if (bag == 0) return {worker};
    std::vector<size_t> blocks;
    for (size_t i = size_t{1} << (bag - 1); i < std::min(size_t{1} << bag, workers); ++i)
        blocks.push_back((worker + i) % workers);
    return blocks;
}

}  // namespace pace::sparse
