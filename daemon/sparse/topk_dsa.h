// TopkDSA (SparCML's dynamic split all-gather; Renggli et al. 2019): each worker owns an equal range
// of indices; everybody sends its part of the top k straight to the owner, who sums, and sends its
// sum as a dense range where that is smaller; then an all-gather.
#pragma once

#include "base/result.h"
#include "base/task.h"
#include "daemon/sparse/exchange.h"

namespace pace::sparse {

// exchange.collection has one block, the whole vector. As spar_dl().
base::Task<base::Result<Entries>> topk_dsa(Exchange& exchange);

}  // namespace pace::sparse
