#include "service/controller/policies/prague.h"

#include <algorithm>
#include <map>
#include <utility>

namespace pace::controller {

namespace {

// Fisher-Yates.
void shuffle(std::vector<Rank>& ranks, base::Random& random) {
    for (size_t left = ranks.size(); left > 1; --left)
        std::swap(ranks[left - 1], ranks[random.below(left)]);
}

}  // namespace

void RandomGroups::plan(Rank requester) {
    const std::span<const Rank> all = eligible();
    const size_t size = std::min<size_t>(group_size(), all.size());
    std::vector<Rank> members{requester};
    // Few of many: a rank that is drawn twice is drawn again.
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
    std::vector<std::vector<Rank>> nodes = by_node(idle);
    const auto has_several = [](const std::vector<Rank>& node) { return node.size() > 1; };
    if (std::count_if(nodes.begin(), nodes.end(), has_several) > 1) {
        plan_inter_intra(std::move(nodes));
        return;
    }
    for (std::vector<Rank>& group : divide(std::move(idle))) add_plan(std::move(group));
}

bool SmartGroups::is_near(Rank requester, Rank other) const {
    return requests(requester) < requests(other) + progress_gap_;
}

bool SmartGroups::join_others(Rank requester) {
    const std::span<const Rank> others = latest_plan();
    const bool all_near = std::all_of(others.begin(), others.end(),
                                      [&](Rank other) { return is_near(requester, other); });
    if (others.empty() || !all_near) return false;
    join_latest_plan(requester);
    return true;
}

// Those in no group that are not much slower than the requester, it included.
std::vector<Rank> SmartGroups::idle_with(Rank requester) const {
    std::vector<Rank> idle;
    for (const Rank rank : eligible())
        if (is_near(requester, rank) && !has_plan(rank)) idle.push_back(rank);
    return idle;
}

// At random, into groups of group_size; of one more if somebody would be alone.
std::vector<std::vector<Rank>> SmartGroups::divide(std::vector<Rank> ranks) {
    shuffle(ranks, random_);
    std::vector<std::vector<Rank>> groups;
    for (const Rank rank : ranks) {
        if (groups.empty() || groups.back().size() == group_size()) groups.emplace_back();
        groups.back().push_back(rank);
    }
    if (groups.size() > 1 && groups.back().size() == 1) {
        const Rank alone = groups.back().front();
        groups.pop_back();
        groups.back().push_back(alone);
    }
    return groups;
}

std::vector<std::vector<Rank>> SmartGroups::by_node(const std::vector<Rank>& ranks) const {
    std::map<NodeId, std::vector<Rank>> nodes;
    for (const Rank rank : ranks) nodes[node_of(rank)].push_back(rank);
    std::vector<std::vector<Rank>> lists;
    for (auto& [node, list] : nodes) lists.push_back(std::move(list));
    return lists;
}

void SmartGroups::plan_inter_intra(std::vector<std::vector<Rank>> nodes) {
    std::vector<Rank> heads;
    std::map<Rank, Rank> beside;  // by head: the one who would be alone
    std::vector<std::vector<Rank>> within;
    for (std::vector<Rank>& node : nodes) {
        shuffle(node, random_);
        heads.push_back(node.front());
        std::vector<Rank> others(node.begin() + 1, node.end());
        if (others.size() == 1) {
            beside.emplace(node.front(), others.front());
            continue;
        }
        for (std::vector<Rank>& group : divide(std::move(others)))
            within.push_back(std::move(group));
    }
    for (std::vector<Rank>& group : divide(std::move(heads))) {
        const size_t count = group.size();
        for (size_t i = 0; i < count; ++i)
            if (const auto other = beside.find(group[i]); other != beside.end())
                group.push_back(other->second);
        add_plan(std::move(group));
    }
    for (std::vector<Rank>& group : within) add_plan(std::move(group));
    for (std::vector<Rank>& node : nodes)
        if (node.size() > 1) add_plan(std::move(node));
}

void FullGroups::plan(Rank /*requester*/) {
    std::vector<Rank> idle;
    for (const Rank rank : eligible())
        if (!has_plan(rank)) idle.push_back(rank);
    add_plan(std::move(idle));
}

}  // namespace pace::controller
