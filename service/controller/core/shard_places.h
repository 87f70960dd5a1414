// shard_places: which node keeps which shard of a server job's model.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "service/controller/core/types.h"

namespace pace::controller {

// The node of each shard, in order. A shard stays where it is if that node is among `nodes`; the others, 0 or gone in `before`,
// go where their hash is highest (rendezvous hashing, Thaler and Ravishankar 1998) among the nodes that have fewer than
// their share, which is the number of shards over that of nodes, rounded up. `nodes` has at least one, each once.
std::vector<NodeId> place_shards(uint64_t token, std::span<const NodeId> before,
                                 std::span<const NodeId> nodes);

}  // namespace pace::controller
