#include "service/controller/core/serving/shard_places.h"

#include <algorithm>
#include <map>

#include "base/random.h"

namespace pace::controller {
namespace {

uint64_t hash_of(uint64_t token, size_t shard, NodeId node) {
    base::Random random(token ^ (uint64_t{node} << 32U | shard));
    random.next();
    return random.next();
}

}  // namespace

std::vector<NodeId> place_shards(uint64_t token, std::span<const NodeId> before,
                                 std::span<const NodeId> nodes) {
    const size_t share = (before.size() + nodes.size() - 1) / nodes.size();
    std::map<NodeId, size_t> kept;
    for (const NodeId node : nodes) kept[node] = 0;
    std::vector<NodeId> places(before.begin(), before.end());
    for (NodeId& node : places) {
        const auto stays = kept.find(node);
        if (stays == kept.end()) {
            node = 0;
        } else {
            ++stays->second;
        }
    }
    for (size_t shard = 0; shard < places.size(); ++shard) {
        if (places[shard] != 0) continue;
        uint64_t highest = 0;
        for (const auto& [node, count] : kept) {
            const uint64_t hash = hash_of(token, shard, node);
            if (count >= share || (places[shard] != 0 && hash <= highest)) continue;
            places[shard] = node;
            highest = hash;
        }
        ++kept[places[shard]];
    }
    return places;
}

}  // namespace pace::controller
