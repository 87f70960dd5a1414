// Components: the number of parts into which groups divide the workers. Workers that averaged
// together, directly or through others, are in one part. The policies maintain this number
// themselves (policies/sync_graph.h); this function is for groups that no policy formed.
#pragma once

#include <cstdint>
#include <vector>

#include "service/controller/vocabulary/types.h"

namespace pace::controller {

// The number of components of workers 0 .. workers - 1. `groups` has no other ranks. 1 is good; 0
// if there are no workers.
uint32_t components(uint32_t workers, const std::vector<std::vector<Rank>>& groups);

}  // namespace pace::controller
