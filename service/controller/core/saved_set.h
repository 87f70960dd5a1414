// SavedSet: a checkpoint of a whole model, as it lies on the disks of several nodes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "service/controller/core/types.h"

namespace pace::controller {

struct SavedSet {
    uint64_t generation = 0;
    ServerLedger ledger;
    std::vector<std::vector<NodeId>> holders;  // of each shard; at least one each
};

// The newest checkpoint of which every shard is on the disk of a node that reports; none if there is none. `token`: of that job
// alone; 0: of any.
std::optional<SavedSet> newest_saved(const std::map<NodeId, ServerReport>& reports, uint64_t token);

// The newest generation of which a node has something on its disk; 0 if there is none.
uint64_t newest_generation(const std::map<NodeId, ServerReport>& reports);

// A node that has it for each shard: where it was before, if that has it; else the one with fewest so far. `before` may be of
// another number of shards, which says nothing.
std::vector<NodeId> place_saved(const SavedSet& saved, std::span<const NodeId> before);

}  // namespace pace::controller
