// SparDL (Zhao et al., "SparDL: Distributed Deep Learning Training with Efficient Sparse
// Communication"): Spar-Reduce-Scatter within each of d teams, Spar-All-Gather between them, Bruck's
// all-gather within each, and global residual collection.
//
// Messages sent by each worker: 2⌈log2(P/d)⌉ + ⌈log2 d⌉; entries: equation (3), (5) or (7).
#pragma once

#include "base/result.h"
#include "base/task.h"
#include "daemon/sparse/exchange.h"

namespace pace::sparse {

// exchange.collection has P/teams blocks. Returns the final entries of the whole vector, the same
// on every worker; what remains in the collection's gradient is the residual. Ends when every
// operation has ended.
base::Task<base::Result<Entries>> spar_dl(Exchange& exchange, size_t teams);

}  // namespace pace::sparse
