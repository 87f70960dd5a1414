#include "daemon/collectives/layout/zones.h"

#include <unordered_map>

namespace pace::collectives {

Zones::Zones(std::span<const uint32_t> places, size_t nodes)
    : zone_(nodes, 0), position_(nodes, 0) {
    std::unordered_map<uint32_t, size_t> zone_of_place;
    for (size_t node = 0; node < nodes; ++node) {
        const uint32_t place = node < places.size() ? places[node] : 0;
        zone_[node] = zone_of_place.try_emplace(place, members_.size()).first->second;
        if (zone_[node] == members_.size()) members_.emplace_back();
        members_[zone_[node]].push_back(node);
    }
    size_t position = 0;
    for (const std::vector<size_t>& zone : members_) {
        first_position_.push_back(position);
        for (const size_t node : zone) position_[node] = position++;
    }
}

size_t Zones::carrier(size_t block, size_t zone) const {
    if (zone_[block] == zone) return block;
    const std::vector<size_t>& nodes = members_[zone];
    // The block's number among the blocks from outside the zone.
    const bool before = position_[block] < first_position_[zone];
    const size_t number = before ? position_[block] : position_[block] - nodes.size();
    return nodes[number % nodes.size()];
}

std::vector<size_t> Zones::carried_by(size_t node) const {
    std::vector<size_t> blocks;
    for (const std::vector<size_t>& zone : members_)
        for (const size_t block : zone)
            if (block != node && carrier(block, zone_[node]) == node) blocks.push_back(block);
    blocks.push_back(node);
    return blocks;
}

}  // namespace pace::collectives
