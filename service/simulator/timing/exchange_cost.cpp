#include "service/simulator/timing/exchange_cost.h"

#include <algorithm>

#include "base/each_once.h"
#include "service/simulator/timing/travel.h"
#include "service/simulator/timing/virtual_time.h"

namespace pace::simulator {

namespace {

// Lists each channel once, with the number of its occurrences.
std::vector<Use> counted(std::vector<uint32_t> channels) {
    std::sort(channels.begin(), channels.end());
    std::vector<Use> uses;
    for (const uint32_t channel : channels) {
        if (uses.empty() || uses.back().channel != channel) uses.push_back({channel, 0});
        ++uses.back().streams;
    }
    return uses;
}

}  // namespace

ExchangeCost ExchangeCosts::cost_of(std::span<const controller::Rank> members,
                                    const Candidate& candidate) const {
    ExchangeCost cost;
    if (members.size() < 2) return cost;
    std::vector<uint32_t> nodes;
    std::vector<uint32_t> memories;
    for (const controller::Rank rank : members) {
        nodes.push_back(scenario_.workers[rank].node);
        memories.push_back(scenario_.nodes[nodes.back()].memory);
    }
    cost.summing = {2 * scenario_.bytes, counted(std::move(memories))};
    base::sort_each_once(nodes);
    if (nodes.size() < 2) return cost;
    std::vector<uint32_t> links;
    for (const uint32_t node : nodes) links.push_back(scenario_.nodes[node].link);
    const Travel travel = travel_of(scenario_, nodes.size(), candidate);
    cost.moving = {travel.bytes, counted(std::move(links))};
    const bool is_crossed = zones_.are_crossed(nodes);
    const auto route =
        is_crossed && !travel.is_sparse ? zones_.route_of(nodes) : Zones::Route::direct;
    if (is_crossed) {
        const std::vector<Use> crossing = zones_.crossing(nodes, route);
        cost.moving.uses.insert(cost.moving.uses.end(), crossing.begin(), crossing.end());
    }
    cost.latency_s = latency_s(nodes, travel.hops, route) + travel.choosing_s;
    return cost;
}

// Relays add two hops within zones. All other hops may lead from one zone to another.
double ExchangeCosts::latency_s(std::span<const uint32_t> nodes, double hops,
                                Zones::Route route) const {
    const double within = scenario_.latency_s;
    if (!zones_.are_crossed(nodes)) return hops * within;
    const double between = scenario_.between_zones->latency_s;
    return hops * between + (route == Zones::Route::relays ? 2 * within : 0);
}

base::Duration ExchangeCosts::alone(const Stage& stage) const {
    double time_s = 0;
    for (const Use& use : stage.uses)
        time_s =
            std::max(time_s, stage.bytes / (channels()[use.channel].bytes_per_s / use.streams));
    return to_duration(time_s);
}

base::Duration ExchangeCosts::alone(const ExchangeCost& cost) const {
    return alone(cost.summing) + alone(cost.moving) + to_duration(cost.latency_s);
}

}  // namespace pace::simulator
