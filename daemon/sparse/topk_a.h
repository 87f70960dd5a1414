// TopkA (SparCML; Renggli et al. 2019): everybody's top k to everybody, summed by each. Nothing is
// cut on the way, so up to P·k entries result.
#pragma once

#include "base/result.h"
#include "base/task.h"
#include "daemon/sparse/exchange.h"

namespace pace::sparse {

// exchange.collection has one block, the whole vector. As spar_dl().
base::Task<base::Result<Entries>> topk_a(Exchange& exchange);

}  // namespace pace::sparse
