// TopkA (SparCML; Renggli et al. 2019). Every worker sends its top k to every worker, and each
// worker sums them. Nothing is cut on the way, so the result has up to P·k entries.
#pragma once

#include "base/loop/task.h"
#include "base/result.h"
#include "daemon/sparse/exchange/exchange.h"

namespace pace::sparse {

// exchange.collection has one block, the whole vector. Returns and ends as spar_dl() does.
base::Task<base::Result<Entries>> topk_a(Exchange& exchange);

}  // namespace pace::sparse
