// broadcast: copies the root's bytes to every node.
//
// A short vector goes down a binomial tree, in ⌈log2 N⌉ hops. A long vector is cut into chunks. The
// root sends each chunk once, to the other nodes in turn. The receiver passes the chunk on to the
// rest. Every link carries about S bytes, in 2 hops, for any N.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "base/loop/task.h"
#include "base/result.h"
#include "daemon/collectives/layout/layout.h"
#include "daemon/collectives/messages/communicator.h"

namespace pace::collectives {

struct BroadcastOptions {
    // Vectors up to this size go down the tree. All options must be equal on all nodes.
    size_t small_bytes_max = 8192;
    // A chunk is about a 64th of the vector, within these bounds. The last chunk still has two hops
    // to go when the root is already idle.
    size_t chunk_bytes_min = 16384;
    size_t chunk_bytes_max = 262144;
    // Chunks in flight at once.
    size_t window = 16;
    // Concerns the root alone. Fills a range of `bytes` just before the chunk of that range is
    // sent, so that no node waits until the whole vector is copied. Empty means that `bytes` is
    // filled already.
    std::function<void(ByteRange, std::byte*)> source = {};
};

// `bytes` is read (or filled by `source`) at node `root` and written at the other nodes. The size
// of `bytes` must be equal on all nodes. After an error `bytes` is undefined, except at the root.
// The communicator must outlive the task. The task ends when every operation has ended.
base::Task<base::Result<>> broadcast(Communicator& communicator, size_t root,
                                     std::span<std::byte> bytes, BroadcastOptions options);

}  // namespace pace::collectives
