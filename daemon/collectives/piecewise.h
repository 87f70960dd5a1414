// piecewise: all_reduce of a vector that is made piece by piece while it travels.
//
// A piece is reduced when this node has made it and the previous piece, in the order of making, has
// been reduced. So early pieces travel while the rest is computed. The pieces and their order
// follow from the layout, the order and `piece_bytes`. These three must be equal on all nodes. The
// nodes' progress may differ.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/loop/task.h"
#include "base/result.h"
#include "daemon/collectives/all_reduce.h"
#include "daemon/collectives/layout/progress.h"

namespace pace::collectives {

// Returns the pieces in the order in which they are made. Their sizes differ by at most kCutBytes.
std::vector<ByteRange> pieces_of(size_t bytes, size_t piece_bytes, protocol::Order order);

// Has the same result, bit for bit, as an all_reduce of every piece. Waits for `progress` without a
// time limit. To end the wait, abort the communicator and call progress.wake().
base::Task<base::Result<>> all_reduce_piecewise(Communicator& communicator, const Addend& part,
                                                double scale, std::span<std::byte> result,
                                                AllReduceOptions options, size_t piece_bytes,
                                                Progress& progress);

}  // namespace pace::collectives
