#include "service/controller/policies/prague.h"

#include <algorithm>
#include <map>
#include <utility>

namespace pace::controller {

namespace {

// A worker looks at so many of the latest groups that do not run yet for one with its zone.
constexpr size_t kPlansLooked = 32;

}  // namespace

void RandomGroups::plan(Rank requester) {
    const std::span<const Rank> all = eligible();
    const size_t size = std::min<size_t>(group_size(), all.size());
    std::vector<Rank> members{requester};
    // The group is small compared to all: a rank that is drawn twice is drawn again.
    while (members.size() < size) {
        const Rank drawn = all[random_.below(all.size())];
        if (std::find(members.begin(), members.end(), drawn) == members.end())
            members.push_back(drawn);
    }
    add_plan(std::move(members));
}

void SmartGroups::plan(Rank requester) {
    std::vector<Rank> idle = idle_with(requester);
    if (idle.size() == 1 && join_others(requester)) return;
    for (std::vector<Rank>& group : divided(std::move(idle))) add_plan(std::move(group));
}

std::vector<std::vector<Rank>> SmartGroups::divided(std::vector<Rank> ranks) {
    std::vector<std::vector<Rank>> nodes = by_node(ranks);
    std::vector<InterIntra::Zone> zones = by_zone(nodes);
    if (zones.size() > 1) return by_place_.over_zones(std::move(zones));
    const auto has_several = [](const std::vector<Rank>& node) { return node.size() > 1; };
    if (std::count_if(nodes.begin(), nodes.end(), has_several) > 1)
        return by_place_.over_nodes(std::move(nodes));
    return by_place_.divide(std::move(ranks));
}

bool SmartGroups::is_near(Rank requester, Rank other) const {
    return requests(requester) < requests(other) + progress_gap_;
}

bool SmartGroups::join_others(Rank requester) {
    const auto is_joinable = [&](std::span<const Rank> group) {
        return std::all_of(group.begin(), group.end(),
                           [&](Rank other) { return is_near(requester, other); });
    };
    const auto is_of_zone = [&](std::span<const Rank> group) {
        return std::any_of(group.begin(), group.end(),
                           [&](Rank other) { return zone_of(other) == zone_of(requester); });
    };
    const std::vector<PlanId> latest = latest_plans(zone_of(requester) != 0 ? kPlansLooked : 1);
    auto plan = std::find_if(latest.begin(), latest.end(), [&](PlanId id) {
        return is_of_zone(members_of(id)) && is_joinable(members_of(id));
    });
    if (plan == latest.end()) plan = latest.begin();
    if (plan == latest.end() || !is_joinable(members_of(*plan))) return false;
    join_plan(*plan, requester);
    return true;
}

// The workers in no group that are not much slower than the requester, which is included.
std::vector<Rank> SmartGroups::idle_with(Rank requester) const {
    std::vector<Rank> idle;
    for (const Rank rank : eligible())
        if (is_near(requester, rank) && !has_plan(rank)) idle.push_back(rank);
    return idle;
}

std::vector<std::vector<Rank>> SmartGroups::by_node(const std::vector<Rank>& ranks) const {
    std::map<NodeId, std::vector<Rank>> nodes;
    for (const Rank rank : ranks) nodes[node_of(rank)].push_back(rank);
    std::vector<std::vector<Rank>> lists;
    for (auto& [node, list] : nodes) lists.push_back(std::move(list));
    return lists;
}

std::vector<InterIntra::Zone> SmartGroups::by_zone(std::vector<std::vector<Rank>> nodes) const {
    std::map<uint32_t, InterIntra::Zone> zones;
    for (std::vector<Rank>& node : nodes) {
        const uint32_t zone = zone_of(node.front());
        zones[zone].push_back(std::move(node));
    }
    std::vector<InterIntra::Zone> lists;
    for (auto& [zone, list] : zones) lists.push_back(std::move(list));
    return lists;
}

void FullGroups::plan(Rank /*requester*/) {
    std::vector<Rank> idle;
    for (const Rank rank : eligible())
        if (!has_plan(rank)) idle.push_back(rank);
    add_plan(std::move(idle));
}

}  // namespace pace::controller
