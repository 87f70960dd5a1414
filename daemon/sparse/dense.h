// dense: everything goes. Σ G of all nodes as daemon/collectives sums it, in f32; nothing is left
// for a residual. What every sparse algorithm approaches as its density approaches one, and the
// right one for a node that is alone.
#pragma once

#include <cstddef>
#include <span>

#include "base/result.h"
#include "base/task.h"
#include "daemon/collectives/communicator.h"
#include "daemon/collectives/local_part.h"
#include "daemon/sparse/exchange.h"
#include "daemon/sparse/options.h"
#include "daemon/sparse/packed.h"

namespace pace::sparse {

// `next` is the residual that begins, the elements of `packed`: zero afterwards, or this node's G if
// it does not contribute (Group::contributes). The result is summed where it is asked for if all
// buffers are f32, and takes 4 bytes of memory per element elsewhere.
base::Task<base::Result<>> dense(collectives::Communicator& communicator,
                                 const collectives::LocalPart& part, const Packed& packed,
                                 double scale, std::span<std::byte> result,
                                 std::span<const float> residual, std::span<float> next,
                                 const collectives::AllReduceOptions& options, const Aside& aside);

}  // namespace pace::sparse
