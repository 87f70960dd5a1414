// dense: sends every element. Σ G of all nodes is summed in f32 by daemon/collectives, and nothing
// is left for a residual. Every sparse algorithm approaches this one when its density approaches
// one. A node that is alone should use it.
#pragma once

#include <cstddef>
#include <span>

#include "base/loop/task.h"
#include "base/result.h"
#include "daemon/collectives/layout/local_part.h"
#include "daemon/collectives/messages/communicator.h"
#include "daemon/sparse/exchange/exchange.h"
#include "daemon/sparse/wire/options.h"
#include "daemon/sparse/wire/packed.h"

namespace pace::sparse {

// `next` is the residual that begins, with the elements of `packed`. Afterwards it is zero, or this
// node's G if the node does not contribute (Group::contributes). If all buffers are f32, the sum is
// made in `result` itself. Otherwise the sum takes 4 bytes of other memory per element.
base::Task<base::Result<>> dense(collectives::Communicator& communicator,
                                 const collectives::LocalPart& part, const Packed& packed,
                                 double scale, std::span<std::byte> result,
                                 std::span<const float> residual, std::span<float> next,
                                 const collectives::AllReduceOptions& options, const Aside& aside);

}  // namespace pace::sparse
