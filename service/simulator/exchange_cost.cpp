#include "service/simulator/exchange_cost.h"

#include <algorithm>

namespace pace::simulator {

namespace {

// Each value once, ascending, with how often it was there.
std::vector<std::pair<uint32_t, uint32_t>> counted(std::vector<uint32_t> values) {
    std::sort(values.begin(), values.end());
    std::vector<std::pair<uint32_t, uint32_t>> counts;
    for (const uint32_t value : values) {
        if (counts.empty() || counts.back().first != value) counts.emplace_back(value, 0);
        ++counts.back().second;
    }
    return counts;
}

}  // namespace

ExchangeCost cost_of(const Scenario& scenario, std::span<const controller::Rank> members) {
    ExchangeCost cost;
    if (members.size() < 2) return cost;
    std::vector<uint32_t> nodes;
    for (const controller::Rank rank : members) nodes.push_back(scenario.workers[rank].node);
    std::vector<uint32_t> links;
    for (const auto& [node, workers] : counted(std::move(nodes))) {
        const double bytes = 2.0 * workers * scenario.bytes;
        cost.fixed_s = std::max(cost.fixed_s, bytes / scenario.nodes[node].memory_bytes_per_s);
        links.push_back(scenario.nodes[node].link);
    }
    const auto n = static_cast<double>(links.size());
    if (links.size() < 2) return cost;
    cost.fixed_s += 2 * scenario.latency_s;
    cost.bytes_per_node = 2 * (n - 1) / n * scenario.bytes;
    for (const auto& [link, count] : counted(std::move(links))) cost.links.push_back({link, count});
    return cost;
}

}  // namespace pace::simulator
