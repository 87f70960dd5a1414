// TopkDSA (SparCML's dynamic split all-gather; Renggli et al. 2019). Each worker owns an equal
// range of indices. Every worker sends each part of its top k directly to the part's owner. The
// owner sums the parts. It sends the sum as a dense range if that is smaller. An all-gather
// follows.
#pragma once

#include "base/loop/task.h"
#include "base/result.h"
#include "daemon/sparse/exchange/exchange.h"

namespace pace::sparse {

// exchange.collection has one block, the whole vector. Returns and ends as spar_dl() does.
base::Task<base::Result<Entries>> topk_dsa(Exchange& exchange);

}  // namespace pace::sparse
