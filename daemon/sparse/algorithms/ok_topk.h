// Ok-Topk (Li and Hoefler 2022). Its steps are:
//  * Selection by thresholds that are kept for a while.
//  * Regions whose boundaries are balanced by the positions of the chosen indices.
//  * A reduction in which each worker owns a region.
//  * A global threshold on the reduced values.
//  * An all-gather, balanced when necessary.
//
// Indices stay integers here. The authors' code sends them as float32, which is exact only below
// 2^24.
#pragma once

#include "base/loop/task.h"
#include "base/result.h"
#include "daemon/sparse/exchange/exchange.h"

namespace pace::sparse {

// exchange.collection has one block, the whole vector. exchange.adaptation.ok_topk is the state
// between exchanges. Returns and ends as spar_dl() does.
base::Task<base::Result<Entries>> ok_topk(Exchange& exchange);

}  // namespace pace::sparse
