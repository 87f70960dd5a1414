// Ok-Topk (Li and Hoefler 2022): selection by thresholds that are kept for a while, regions whose
// boundaries are balanced by where the chosen indices fall, a reduction in which each worker owns a
// region, a global threshold on what was reduced, and an all-gather that is balanced when it needs
// to be. Indices stay integers (the authors' code sends them as float32, exact only below 2^24).
#pragma once

#include "base/result.h"
#include "base/task.h"
#include "daemon/sparse/exchange.h"

namespace pace::sparse {

// exchange.collection has one block, the whole vector; exchange.adaptation.ok_topk is the state
// between exchanges. As spar_dl().
base::Task<base::Result<Entries>> ok_topk(Exchange& exchange);

}  // namespace pace::sparse
