// piecewise: all_reduce of a vector that is made while it travels, a piece at a time.
//
// The vector is cut into pieces; each is reduced when this node has made it and the one before it, in the order of making, has
// been reduced. So what is made early travels while the rest is computed. The pieces and their order follow from the layout,
// the order and `piece_bytes`, which must be equal on all nodes; how far each node is need not be.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/task.h"
#include "daemon/collectives/all_reduce.h"
#include "daemon/collectives/progress.h"

namespace pace::collectives {

// In the order in which they are made. Sizes differ by at most kCutBytes.
std::vector<ByteRange> pieces_of(size_t bytes, size_t piece_bytes, protocol::Order order);

// As all_reduce, bit for bit, of every piece. `progress` is awaited without time limit: abort the communicator and wake it to
// end that.
base::Task<base::Result<>> all_reduce_piecewise(Communicator& communicator, const Addend& part,
                                                double scale, std::span<std::byte> result,
                                                AllReduceOptions options, size_t piece_bytes,
                                                Progress& progress);

}  // namespace pace::collectives
