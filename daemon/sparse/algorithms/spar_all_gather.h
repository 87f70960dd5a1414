// Spar-All-Gather (SparDL, section 3.3). Each of the d teams has reduced its blocks. This step
// makes the blocks equal in all teams, before each team gathers its own blocks.
#pragma once

#include "base/loop/task.h"
#include "base/result.h"
#include "daemon/sparse/exchange/exchange.h"
#include "daemon/sparse/wire/ring.h"

namespace pace::sparse {

// Cuts this worker's block, `block`, and combines it with the blocks of the same rank in the other
// teams. `position` connects these workers. Returns the entries as they travel: at most L = dk/P,
// the same for all of these workers. Has settled the collection when it returns them. With one
// team, only cuts. Ends when every operation has ended.
base::Task<base::Result<Entries>> spar_all_gather(Exchange& exchange, Ring position, size_t block);

}  // namespace pace::sparse
