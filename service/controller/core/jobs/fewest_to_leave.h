// fewest_to_leave: given cuts between nodes, finds the fewest nodes to remove so that all remaining
// nodes reach each other.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "service/controller/core/nodes/cut_links.h"

namespace pace::controller {

// The smallest vertex cover of the graph of cuts, ascending. Among equal ones it is the cover with
// fewer workers, then the one with higher numbers. With very many cuts it may not be the smallest,
// since the search is bounded.
std::vector<NodeId> fewest_to_leave(std::span<const CutLinks::Pair> cuts,
                                    const std::map<NodeId, uint32_t>& workers);

}  // namespace pace::controller
