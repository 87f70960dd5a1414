#include "service/simulator/model/zones.h"

#include <algorithm>
#include <map>
#include <string_view>

namespace pace::simulator {

Zones::Zones(const Scenario& scenario)
    : scenario_(scenario),
      channels_(scenario.channels),
      first_way_(static_cast<uint32_t>(scenario.channels.size())) {
    std::map<std::string_view, uint32_t> numbers;
    for (const Node& node : scenario.nodes) {
        const auto next = static_cast<uint32_t>(numbers.size());
        zone_of_.push_back(numbers.emplace(node.zone, next).first->second);
    }
    zones_ = static_cast<uint32_t>(numbers.size());
    if (scenario.between_zones && scenario.between_zones->bytes_per_s > 0 && zones_ > 1)
        channels_.resize(first_way_ + size_t{zones_} * zones_,
                         Channel{scenario.between_zones->bytes_per_s});
}

bool Zones::are_crossed(std::span<const uint32_t> nodes) const {
    return scenario_.between_zones.has_value() &&
           std::any_of(nodes.begin(), nodes.end(),
                       [&](uint32_t node) { return zone_of_[node] != zone_of_[nodes.front()]; });
}

// The number of the given nodes in each zone, in the order of zones.
std::vector<std::pair<uint32_t, uint32_t>> Zones::counted(std::span<const uint32_t> nodes) const {
    std::map<uint32_t, uint32_t> counts;
    for (const uint32_t node : nodes) ++counts[zone_of_[node]];
    return {counts.begin(), counts.end()};
}

Zones::Route Zones::route_of(std::span<const uint32_t> nodes) const {
    const auto counts = counted(nodes);
    const bool some_has_several = std::any_of(counts.begin(), counts.end(),
                                              [](const auto& count) { return count.second > 1; });
    return counts.size() > 1 && some_has_several ? Route::relays : Route::direct;
}

uint32_t Zones::way_between(uint32_t zone, uint32_t other) const {
    return first_way_ + std::min(zone, other) * zones_ + std::max(zone, other);
}

std::vector<Use> Zones::crossing(std::span<const uint32_t> nodes, Route route) const {
    std::vector<Use> uses;
    if (channels_.size() == first_way_) return uses;
    const auto counts = counted(nodes);
    const auto others = static_cast<double>(nodes.size() - 1);
    for (size_t i = 0; i < counts.size(); ++i) {
        for (size_t j = i + 1; j < counts.size(); ++j) {
            const double a = counts[i].second;
            const double b = counts[j].second;
            const double streams = route == Route::relays ? (a + b) / (2 * others) : a * b / others;
            uses.push_back({way_between(counts[i].first, counts[j].first), streams});
        }
    }
    return uses;
}

std::optional<uint32_t> Zones::way(uint32_t node, uint32_t other) const {
    if (channels_.size() == first_way_ || zone_of_[node] == zone_of_[other]) return std::nullopt;
    return way_between(zone_of_[node], zone_of_[other]);
}

size_t zones_of(const Scenario& scenario) {
    std::map<std::string_view, size_t> zones;
    for (const Node& node : scenario.nodes) zones.emplace(node.zone, zones.size());
    return zones.size();
}

}  // namespace pace::simulator
