#include "protocol/static_groups.h"

#include <algorithm>
#include <utility>

namespace pace::protocol {

namespace {

// Returns the index of the node's worker that meets a worker of the opposite node.
size_t crossing_of(const std::vector<StaticGroups::Rank>& node) {
    return std::min<size_t>(1, node.size() - 1);
}

}  // namespace

StaticGroups::StaticGroups(std::vector<std::vector<Rank>> nodes) : nodes_(std::move(nodes)) {
    for (size_t node = 0; node < nodes_.size(); ++node)
        for (size_t i = 0; i < nodes_[node].size(); ++i) places_[nodes_[node][i]] = {node, i};
}

std::vector<StaticGroups::Rank> StaticGroups::group_of(Rank rank, uint64_t turn) const {
    const auto place = places_.find(rank);
    if (place == places_.end()) return {};
    switch (turn % kPhases) {
        case 0:
            return heads_or_pair(place->second);
        case 2:
            return across_or_pair(place->second);
        default:
            return nodes_[place->second.node];
    }
}

std::vector<StaticGroups::Rank> StaticGroups::heads_or_pair(Place place) const {
    const std::vector<Rank>& node = nodes_[place.node];
    if (place.index == 0) {
        std::vector<Rank> heads;
        for (const std::vector<Rank>& other : nodes_) heads.push_back(other.front());
        return heads;
    }
    // The first worker is not in a pair. If the number of the other workers is odd, the second
    // worker is left out.
    const size_t first = node.size() % 2 == 0 ? 2 : 1;
    if (place.index < first) return {node[place.index]};
    const size_t pair = (place.index - first) / 2;
    return {node[first + 2 * pair], node[first + 2 * pair + 1]};
}

std::vector<StaticGroups::Rank> StaticGroups::across_or_pair(Place place) const {
    const std::vector<Rank>& node = nodes_[place.node];
    const size_t crossing = crossing_of(node);
    if (place.index == crossing) {
        const size_t half = nodes_.size() / 2;
        const size_t low = place.node < half ? place.node : place.node - half;
        if (low >= half) return {node[crossing]};
        const std::vector<Rank>& one = nodes_[low];
        const std::vector<Rank>& other = nodes_[low + half];
        return {one[crossing_of(one)], other[crossing_of(other)]};
    }
    std::vector<Rank> others = node;
    others.erase(others.begin() + static_cast<ptrdiff_t>(crossing));
    const size_t index = place.index - (place.index > crossing ? 1 : 0);
    const auto [low, high] = std::minmax({index, others.size() - 1 - index});
    if (low == high) return {others[low]};
    return {others[low], others[high]};
}

}  // namespace pace::protocol
