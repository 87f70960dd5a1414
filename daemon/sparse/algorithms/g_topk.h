// gTopk (Shi et al. 2019): a tree of pairwise sums, then a broadcast of the root's sum. Each
// pairwise sum is cut to the top k again. This code works for any P: the workers beyond the
// greatest power of two are folded in first and folded out last.
//
// 2 log2 P steps on the longest path, with 2k words each.
#pragma once

#include "base/loop/task.h"
#include "base/result.h"
#include "daemon/sparse/exchange/exchange.h"

namespace pace::sparse {

// exchange.collection has one block, the whole vector. Returns and ends as spar_dl() does. In mode
// `global`, values that are cut on the way stay with the worker that cut them. The paper loses
// these values.
base::Task<base::Result<Entries>> g_topk(Exchange& exchange);

}  // namespace pace::sparse
