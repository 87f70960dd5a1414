// Copies: copies of checkpoints on the disks of other nodes: which node keeps whose, which of them
// this node has sent and not heard of, and which ones other nodes may send.
//
// A node's copies are on the node with the next number. A copy belongs to a position at which the
// order has all shards saved. The order may come later than the copy, or may have come before this
// node was in the view. So a few copies of other positions are taken, too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "base/result.h"
#include "daemon/runtime/peers.h"

namespace pace::daemon {

class Copies {
  public:
    // Copies of a node, in a view, at positions where the order has not said that all is saved.
    static constexpr size_t kUnnamedMax = 4;
    // Checkpoints that have not ended well. Of more, the oldest are forgotten.
    static constexpr size_t kPositionsMax = 1024;

    // `per_shard`: on how many nodes a shard is saved.
    explicit Copies(uint32_t per_shard) : has_copies_(per_shard >= 2) {}

    // A view of the model of this generation has committed, with these nodes, sorted.
    void commit(std::vector<NodeId> nodes, uint64_t generation);
    // The node that keeps copies of this node's shards; 0: none does.
    NodeId keeper_of(NodeId node) const;

    // The order has come to a checkpoint.
    void ordered(uint64_t position);
    // The checkpoint at this position has ended; if `complete`, those before are of no use.
    void ended(uint64_t position, bool complete);

    // Whether `self` is to keep this copy. Error: corrupt, which says why not.
    base::Result<> check(NodeId self, NodeId from, uint32_t shard, uint64_t position);

    // This node's shard is on its way to the node that keeps the copy.
    void sent(NodeId to, uint32_t shard, uint64_t position) { under_way_[{position, shard}] = to; }
    // The node says what became of a copy. False: none of this position went there, or it has said
    // so before.
    bool answered(NodeId from, uint32_t shard, uint64_t position);

  private:
    using Which = std::pair<uint64_t, uint32_t>;  // position and shard

    bool has_copies_;
    uint64_t generation_ = 0;
    std::vector<NodeId> nodes_;
    std::set<uint64_t> positions_;
    std::map<NodeId, std::set<Which>> unnamed_;
    std::map<Which, NodeId> under_way_;
};

}  // namespace pace::daemon
