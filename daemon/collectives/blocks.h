// Blocks: a vector cut into one block per node, which owns it, and each block into chunks, the way
// the all-reduces of long vectors do.
#pragma once

#include <cstddef>

#include "daemon/collectives/layout.h"

namespace pace::collectives {

class Blocks {
  public:
    // `chunk_bytes` is a multiple of kCutBytes.
    Blocks(size_t bytes, size_t nodes, size_t chunk_bytes)
        : bytes_(bytes), nodes_(nodes), chunk_bytes_(chunk_bytes) {}

    size_t chunk_bytes() const { return chunk_bytes_; }
    // The chunks of a node's block. No block has more than the one of node 0.
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
