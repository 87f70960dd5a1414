// fewest_to_leave: of nodes between some of which nothing passes, the fewest without which all that are left reach each other.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "service/controller/core/cut_links.h"

namespace pace::controller {

// The smallest vertex cover of the graph of cuts; of equal ones that with fewer workers, then that with the higher numbers. With
// very many cuts it may have more nodes than the smallest: the search is bounded. Ascending.
std::vector<NodeId> fewest_to_leave(std::span<const CutLinks::Pair> cuts,
                                    const std::map<NodeId, uint32_t>& workers);

}  // namespace pace::controller
