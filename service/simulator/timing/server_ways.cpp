#include "service/simulator/timing/server_ways.h"

#include <algorithm>
#include <map>

#include "base/each_once.h"

namespace pace::simulator {

ServerWays::ServerWays(const Scenario& scenario)
    : scenario_(scenario),
      zones_(scenario),
      one_way_(static_cast<uint32_t>(zones_.channels().size())),
      channels_(zones_.channels()) {
    for (const Worker& worker : scenario.workers) nodes_.push_back(worker.node);
    base::sort_each_once(nodes_);
    std::map<uint32_t, size_t> place_of_zone;
    double slowest = channels_[scenario.nodes[nodes_.front()].link].bytes_per_s;
    for (const uint32_t node : nodes_) {
        slowest = std::min(slowest, channels_[scenario.nodes[node].link].bytes_per_s);
        const auto [place, is_new] = place_of_zone.emplace(zones_.zone_of(node), places_.size());
        if (is_new) {
            places_.push_back(node);
            nodes_of_place_.push_back(0);
        }
        ++nodes_of_place_[place->second];
    }
    for (uint32_t channel = 0; channel < one_way_; ++channel)
        channels_.push_back(Channel{channels_[channel].bytes_per_s});
    const Channel servers{slowest * static_cast<double>(nodes_.size())};
    channels_.push_back(servers);
    channels_.push_back(servers);
}

Stage ServerWays::copying(controller::Rank rank) const {
    return {2 * scenario_.bytes, {{scenario_.nodes[scenario_.workers[rank].node].memory, 1}}};
}

Stage ServerWays::moving(controller::Rank rank, Direction direction) const {
    const auto n = static_cast<double>(nodes_.size());
    if (nodes_.size() < 2) return {};
    const bool is_pull = direction == Direction::pull;
    const uint32_t node = scenario_.workers[rank].node;
    const uint32_t link = scenario_.nodes[node].link;
    Stage stage{(n - 1) / n * scenario_.bytes, {}};
    stage.uses.push_back({is_pull ? inward(link) : link, 1});
    stage.uses.push_back({2 * one_way_ + (is_pull ? 1 : 0), 1});
    for (size_t place = 0; place < places_.size(); ++place) {
        const auto way = zones_.way(node, places_[place]);
        if (!way) continue;
        const bool is_upward = zones_.zone_of(node) < zones_.zone_of(places_[place]);
        stage.uses.push_back(
            {is_upward == is_pull ? inward(*way) : *way, nodes_of_place_[place] / (n - 1)});
    }
    return stage;
}

double ServerWays::latency_s(controller::Rank rank) const {
    if (nodes_.size() < 2) return 0;
    const uint32_t node = scenario_.workers[rank].node;
    const bool is_far = std::any_of(places_.begin(), places_.end(), [&](uint32_t place) {
        return zones_.zone_of(place) != zones_.zone_of(node);
    });
    return is_far && scenario_.between_zones ? scenario_.between_zones->latency_s
                                             : scenario_.latency_s;
}

}  // namespace pace::simulator
