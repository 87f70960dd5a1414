// Spar-Reduce-Scatter (SparDL, section 3.1): after ⌈log2 P⌉ steps each worker of a team holds, in
// the block of its own rank, what the team has of it, for any number P of workers.
#pragma once

#include "base/result.h"
#include "base/task.h"
#include "daemon/sparse/exchange.h"
#include "daemon/sparse/ring.h"

namespace pace::sparse {

// Works on exchange.collection, which has one block per worker of `team`. The worker's own block is
// summed but not cut yet. Each step is one message: a bag is packed whole, where the authors' code
// sends its blocks one by one. Ends when every operation has ended.
base::Task<base::Result<>> spar_reduce_scatter(Exchange& exchange, Ring team);

}  // namespace pace::sparse
