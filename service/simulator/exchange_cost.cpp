#include "service/simulator/exchange_cost.h"

#include <algorithm>

#include "base/each_once.h"

namespace pace::simulator {

namespace {

// Each channel once, with how often it was there.
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

ExchangeCost cost_of(const Scenario& scenario, std::span<const controller::Rank> members) {
    ExchangeCost cost;
    if (members.size() < 2) return cost;
    std::vector<uint32_t> nodes;
    std::vector<uint32_t> memories;
    for (const controller::Rank rank : members) {
        nodes.push_back(scenario.workers[rank].node);
        memories.push_back(scenario.nodes[nodes.back()].memory);
    }
    cost.summing = {2 * scenario.bytes, counted(std::move(memories))};
    base::sort_each_once(nodes);
    if (nodes.size() < 2) return cost;
    std::vector<uint32_t> links;
    for (const uint32_t node : nodes) links.push_back(scenario.nodes[node].link);
    const auto n = static_cast<double>(nodes.size());
    cost.moving = {2 * (n - 1) / n * scenario.bytes, counted(std::move(links))};
    cost.latency_s = 2 * scenario.latency_s;
    return cost;
}

}  // namespace pace::simulator
