// Spar-Reduce-Scatter (SparDL, section 3.1). After ⌈log2 P⌉ steps, each worker of a team holds the
// team's sum of the block that has the worker's rank. Works for any number P of workers.
#pragma once

#include "base/loop/task.h"
#include "base/result.h"
#include "daemon/sparse/exchange/exchange.h"
#include "daemon/sparse/wire/ring.h"

namespace pace::sparse {

// Works on exchange.collection, which has one block per worker of `team`. At the end, the worker's
// own block is summed but not yet cut. Each step is one message, because a bag is packed whole. The
// authors' code sends the blocks of a bag one by one. Ends when every operation has ended.
base::Task<base::Result<>> spar_reduce_scatter(Exchange& exchange, Ring team);

}  // namespace pace::sparse
