// shard_places: chooses the node that keeps each shard of a server job's model.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "service/controller/vocabulary/types.h"

namespace pace::controller {

// Returns the node of each shard, in order. A shard stays where it is if its node is among `nodes`.
// The other shards, whose entry in `before` is 0 or a node that is gone, go to the node with the
// highest hash (rendezvous hashing, Thaler and Ravishankar 1998) among the nodes below their share.
// The share is the number of shards over that of nodes, rounded up. `nodes` has at least one, each
// once.
std::vector<NodeId> place_shards(uint64_t token, std::span<const NodeId> before,
                                 std::span<const NodeId> nodes);

}  // namespace pace::controller
