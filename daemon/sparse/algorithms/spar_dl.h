// SparDL (Zhao et al., "SparDL: Distributed Deep Learning Training with Efficient Sparse
// Communication"). It has four parts: Spar-Reduce-Scatter within each of d teams, Spar-All-Gather
// between the teams, Bruck's all-gather within each team, and global residual collection.
//
// Each worker sends 2⌈log2(P/d)⌉ + ⌈log2 d⌉ messages. Equation (3), (5) or (7) gives the entries.
#pragma once

#include "base/loop/task.h"
#include "base/result.h"
#include "daemon/sparse/exchange/exchange.h"

namespace pace::sparse {

// exchange.collection has P/teams blocks. Returns the final entries of the whole vector, the same
// on every worker. What remains in the collection's gradient is the residual. Ends when every
// operation has ended.
base::Task<base::Result<Entries>> spar_dl(Exchange& exchange, size_t teams);

}  // namespace pace::sparse
