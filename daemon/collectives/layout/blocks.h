// Blocks: how the all-reduces of long vectors cut a vector. There is one block per node, which is
// the block's owner. Each block is cut into chunks.
#pragma once

#include <cstddef>

#include "daemon/collectives/layout/layout.h"

namespace pace::collectives {

class Blocks {
  public:
    // `chunk_bytes` is a multiple of kCutBytes.
    Blocks(size_t bytes, size_t nodes, size_t chunk_bytes)
        : bytes_(bytes), nodes_(nodes), chunk_bytes_(chunk_bytes) {}

    size_t chunk_bytes() const { return chunk_bytes_; }
    // Returns the number of chunks of a node's block. No block has more chunks than that of node 0.
    size_t chunks(size_t node) const { return chunk_count(block(node), chunk_bytes_); }
    size_t chunks_max() const { return chunks(0); }
    ByteRange chunk(size_t node, size_t index) const {
        return chunk_of(block(node), chunk_bytes_, index);
    }

  private:
    ByteRange block(size_t node) const { return block_of({0, bytes_}, nodes_, node); }

    size_t bytes_;
    size_t nodes_;
    size_t chunk_bytes_;
};

}  // namespace pace::collectives
