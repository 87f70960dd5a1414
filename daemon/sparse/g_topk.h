// gTopk (Shi et al. 2019): a tree of pairwise sums, each cut to the top k again, then a broadcast of
// what the root has. Here for any P: the workers beyond the greatest power of two are folded in
// first and out last.
//
// 2 log2 P steps on the longest path, 2k words each.
#pragma once

#include "base/result.h"
#include "base/task.h"
#include "daemon/sparse/exchange.h"

namespace pace::sparse {

// exchange.collection has one block, the whole vector. As spar_dl(). Values cut on the way stay with
// who cut them (in mode `global`; the paper loses them).
base::Task<base::Result<Entries>> g_topk(Exchange& exchange);

}  // namespace pace::sparse
