// Partition: a model of n elements cut into K shards, which are consecutive ranges. The first n mod
// K shards have one element more (Jiang et al., SIGMOD 2017, section 6). The controller decides
// which node has which shard.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace pace::server {

struct Range {
    size_t begin = 0;
    size_t end = 0;
    size_t size() const { return end - begin; }
    bool operator==(const Range&) const = default;
};

class Partition {
  public:
    // `shards` is at least 1. If there are fewer elements than shards, the last shards are empty.
    Partition(size_t elements, uint32_t shards) : elements_(elements), shards_(shards) {}

    size_t elements() const { return elements_; }
    uint32_t shards() const { return shards_; }

    Range range(uint32_t shard) const { return {begin(shard), begin(shard + 1)}; }

    // Returns the shard of the element, which must be below elements().
    uint32_t shard_of(size_t element) const {
        const size_t each = elements_ / shards_;
        const size_t longer = elements_ % shards_ * (each + 1);  // elements of the longer shards
        if (element < longer) return static_cast<uint32_t>(element / (each + 1));
        return static_cast<uint32_t>(elements_ % shards_ + (element - longer) / each);
    }

  private:
    size_t begin(uint32_t shard) const {
        return shard * (elements_ / shards_) + std::min<size_t>(shard, elements_ % shards_);
    }

    size_t elements_;
    uint32_t shards_;
};

}  // namespace pace::server
