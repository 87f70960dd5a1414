// broadcast: the root's bytes to every node.
//
// Little goes down a binomial tree, ⌈log2 N⌉ hops. More is cut into chunks; the root sends each
// chunk once, to one of the others in turn, and that one passes it on to the rest: every link
// carries about S bytes, in 2 hops, whatever N is.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "base/result.h"
#include "base/task.h"
#include "daemon/collectives/communicator.h"
#include "daemon/collectives/layout.h"

namespace pace::collectives {

struct BroadcastOptions {
    // Vectors up to this size go down the tree. All must be equal on all nodes.
    size_t small_bytes_max = 8192;
    // A chunk is about a 64th of the vector, within these bounds: the last one has two hops to go
    // while the root is idle already.
    size_t chunk_bytes_min = 16384;
    size_t chunk_bytes_max = 262144;
    // Chunks under way at once.
    size_t window = 16;
    // At the root: writes what is sent of a range. A chunk of `bytes` is made so just before it leaves, and nobody waits for the whole
    // vector to be copied first. Empty: `bytes` holds it already.
    std::function<void(ByteRange, std::byte*)> source = {};
};

// `bytes` is read (or made, above) at node `root` and written at the others; equal sizes everywhere. Undefined after
// an error, except at the root. The communicator must outlive the task. Ends when every operation
// has ended.
base::Task<base::Result<>> broadcast(Communicator& communicator, size_t root,
                                     std::span<std::byte> bytes, BroadcastOptions options);

}  // namespace pace::collectives
