#include "service/simulator/link_shares.h"

#include <algorithm>
#include <cmath>

#include "service/simulator/virtual_time.h"

namespace pace::simulator {

LinkShares::LinkShares(std::span<const Link> links) {
    for (const Link& link : links) links_.push_back({link.bytes_per_s, 0, {}});
}

void LinkShares::begin(uint32_t id, const ExchangeCost& cost, TimePoint now) {
    if (id >= flows_.size()) flows_.resize(id + 1);
    Flow& flow = flows_[id];
    flow.bytes_left = cost.bytes_per_node;
    flow.bytes_per_s = 0;
    flow.since = now;
    flow.links = cost.links;
    for (const LinkUse& use : flow.links) {
        links_[use.link].nodes += use.nodes;
        links_[use.link].flows.push_back(id);
    }
    refresh_beside(cost.links, now);
}

std::optional<TimePoint> LinkShares::next_end() {
    drop_stale();
    if (endings_.empty()) return std::nullopt;
    return endings_.top().when;
}

uint32_t LinkShares::end_next() {
    drop_stale();
    const Ending ending = endings_.top();
    endings_.pop();
    Flow& flow = flows_[ending.id];
    flow.version = 0;
    for (const LinkUse& use : flow.links) {
        links_[use.link].nodes -= use.nodes;
        std::erase(links_[use.link].flows, ending.id);
    }
    refresh_beside(flow.links, ending.when);
    return ending.id;
}

void LinkShares::refresh_beside(const std::vector<LinkUse>& links, TimePoint now) {
    for (const LinkUse& use : links)
        for (const uint32_t id : links_[use.link].flows) refresh(id, now);
}

// The flow's rate as the links are now, and its end from it.
void LinkShares::refresh(uint32_t id, TimePoint now) {
    Flow& flow = flows_[id];
    double rate = INFINITY;
    for (const LinkUse& use : flow.links)
        rate = std::min(rate, links_[use.link].bytes_per_s / links_[use.link].nodes);
    if (rate == flow.bytes_per_s) return;
    const double moved = flow.bytes_per_s * base::to_seconds(now - flow.since);
    flow.bytes_left = std::max(0.0, flow.bytes_left - moved);
    flow.bytes_per_s = rate;
    flow.since = now;
    flow.version = next_version_++;
    endings_.push({now + to_duration(flow.bytes_left / rate), flow.version, id});
}

void LinkShares::drop_stale() {
    while (!endings_.empty() && endings_.top().version != flows_[endings_.top().id].version)
        endings_.pop();
}

}  // namespace pace::simulator
