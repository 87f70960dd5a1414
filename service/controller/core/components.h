// How many parts groups leave the workers in: workers that averaged together, directly or through
// others, are in one. The policies keep theirs at hand (policies/sync_graph.h); this is for groups
// that no policy formed.
#pragma once

#include <cstdint>
#include <vector>

#include "service/controller/core/types.h"

namespace pace::controller {

// Of workers 0 .. workers - 1, the only ranks in `groups`. 1 is good; 0 if there are no workers.
uint32_t components(uint32_t workers, const std::vector<std::vector<Rank>>& groups);

}  // namespace pace::controller
