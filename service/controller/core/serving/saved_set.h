// SavedSet: a checkpoint of a whole model, whose shards are on the disks of several nodes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "service/controller/vocabulary/types.h"

namespace pace::controller {

struct SavedSet {
    uint64_t generation = 0;
    ServerLedger ledger;
    std::vector<std::vector<NodeId>> holders;  // by shard; at least one each
};

// The newest checkpoint whose every shard is on the disk of a reporting node; none if there is
// none. `token` selects a job; 0 selects all.
std::optional<SavedSet> newest_saved(const std::map<NodeId, ServerReport>& reports, uint64_t token);

// The newest generation of which a node has any shard on disk; 0 if there is none.
uint64_t newest_generation(const std::map<NodeId, ServerReport>& reports);

// Chooses for each shard a node that has the shard: the node in `before` if it has the shard,
// otherwise the one with the fewest shards so far. `before` is ignored if it has another number of
// shards.
std::vector<NodeId> place_saved(const SavedSet& saved, std::span<const NodeId> before);

}  // namespace pace::controller
