// Partition: how a model of n elements is cut into shards: ranges one after the other, of which the first n mod K have one
// element more (Jiang et al., SIGMOD 2017, section 6; which node has which, the controller says).
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
    // `shards` is at least 1. If there are fewer elements, the last ones are empty.
    Partition(size_t elements, uint32_t shards) : elements_(elements), shards_(shards) {}

    size_t elements() const { return elements_; }
    uint32_t shards() const { return shards_; }

    Range range(uint32_t shard) const { return {begin(shard), begin(shard + 1)}; }

    // That has the element, which is below elements().
    uint32_t shard_of(size_t element) const {
        const size_t each = elements_ / shards_;
        const size_t longer = elements_ % shards_ * (each + 1);  // elements in shards of each + 1
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
