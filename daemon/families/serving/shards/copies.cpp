#include "daemon/families/serving/shards/copies.h"

#include <algorithm>
#include <utility>

namespace pace::daemon {

using base::ErrorKind;
using base::Result;

void Copies::commit(std::vector<NodeId> nodes, uint64_t generation) {
    nodes_ = std::move(nodes);
    unnamed_.clear();
    if (std::exchange(generation_, generation) == generation) return;
    positions_.clear();
    under_way_.clear();
}

NodeId Copies::keeper_of(NodeId node) const {
    if (!has_copies_ || nodes_.size() < 2) return 0;
    const auto next = std::upper_bound(nodes_.begin(), nodes_.end(), node);
    return next == nodes_.end() ? nodes_.front() : *next;
}

void Copies::ordered(uint64_t position) {
    positions_.insert(position);
    if (positions_.size() > kPositionsMax) positions_.erase(positions_.begin());
    for (auto& [node, copies] : unnamed_)
        std::erase_if(copies, [position](const Which& copy) { return copy.first == position; });
}

void Copies::ended(uint64_t position, bool complete) {
    under_way_.erase(under_way_.begin(), under_way_.upper_bound({position, UINT32_MAX}));
    if (complete) positions_.erase(positions_.begin(), positions_.lower_bound(position));
}

Result<> Copies::check(NodeId self, NodeId from, uint32_t shard, uint64_t position) {
    if (keeper_of(from) != self)
        return base::make_error(ErrorKind::corrupt,
                                "a copy of shard {} comes, which another node is to keep", shard);
    if (positions_.contains(position)) return {};
    std::set<Which>& unnamed = unnamed_[from];
    if (unnamed.contains({position, shard})) return {};
    if (unnamed.size() >= kUnnamedMax)
        return base::make_error(ErrorKind::corrupt,
                                "a copy of shard {} at position {} comes, where nothing is saved",
                                shard, position);
    unnamed.insert({position, shard});
    return {};
}

bool Copies::answered(NodeId from, uint32_t shard, uint64_t position) {
    const auto sent = under_way_.find({position, shard});
    if (sent == under_way_.end() || sent->second != from) return false;
    under_way_.erase(sent);
    return true;
}

}  // namespace pace::daemon
