// Spar-All-Gather (SparDL, section 3.3): the d teams make the blocks that they have each reduced
// alike, before each team gathers its own.
#pragma once

#include "base/result.h"
#include "base/task.h"
#include "daemon/sparse/exchange.h"
#include "daemon/sparse/ring.h"

namespace pace::sparse {

// Cuts this worker's block, `block`, and makes it one with those of the same rank in the other
// teams, which `position` connects. Returns the at most L = dk/P entries that all of these workers
// then have alike, as they travel, and has settled the collection. With one team, just cuts. Ends
// when every operation has ended.
base::Task<base::Result<Entries>> spar_all_gather(Exchange& exchange, Ring position, size_t block);

}  // namespace pace::sparse
