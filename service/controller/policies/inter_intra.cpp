#include "service/controller/policies/inter_intra.h"

#include <utility>

namespace pace::controller {

// Fisher-Yates.
template <typename Item>
void InterIntra::shuffle(std::vector<Item>& items) {
    for (size_t left = items.size(); left > 1; --left)
        std::swap(items[left - 1], items[random_.below(left)]);
}

std::vector<InterIntra::Ranks> InterIntra::divide(Ranks ranks) {
    std::vector<Ranks> groups;
    divide_into(groups, std::move(ranks));
    return groups;
}

void InterIntra::divide_into(std::vector<Ranks>& ret_groups, Ranks ranks) {
    shuffle(ranks);
    const size_t first = ret_groups.size();
    for (const Rank rank : ranks) {
        if (ret_groups.size() == first || ret_groups.back().size() == group_size_)
            ret_groups.emplace_back();
        ret_groups.back().push_back(rank);
    }
    if (ret_groups.size() > first + 1 && ret_groups.back().size() == 1) {
        const Rank alone = ret_groups.back().front();
        ret_groups.pop_back();
        ret_groups.back().push_back(alone);
    }
}

void InterIntra::join_any(std::vector<Ranks>& groups, Rank rank) {
    groups[random_.below(groups.size())].push_back(rank);
}

// -------------------------------------------------------------------------------------- two levels

// The first worker of a node is its head worker.
void InterIntra::add_node(Inter& inter, const Ranks& node) {
    inter.heads.push_back(node.front());
    if (node.size() == 2) {
        inter.beside.emplace(node.front(), node.back());
        return;
    }
    divide_into(inter.within, Ranks(node.begin() + 1, node.end()));
}

void InterIntra::end_inter(Inter inter, std::vector<Ranks>& ret_plan) {
    for (Ranks& group : divide(std::move(inter.heads))) {
        const size_t heads = group.size();
        for (size_t i = 0; i < heads; ++i)
            if (const auto other = inter.beside.find(group[i]); other != inter.beside.end())
                group.push_back(other->second);
        ret_plan.push_back(std::move(group));
    }
    for (Ranks& group : inter.within) ret_plan.push_back(std::move(group));
}

std::vector<InterIntra::Ranks> InterIntra::over_nodes(std::vector<Ranks> nodes) {
    std::vector<Ranks> plan;
    Inter inter;
    for (Ranks& node : nodes) {
        shuffle(node);
        add_node(inter, node);
    }
    end_inter(std::move(inter), plan);
    for (Ranks& node : nodes)
        if (node.size() > 1) plan.push_back(std::move(node));
    return plan;
}

// ------------------------------------------------------------------------------------ three levels

std::vector<InterIntra::Ranks> InterIntra::over_zones(std::vector<Zone> zones) {
    std::vector<Ranks> plan;
    Inter among;
    for (Zone& zone : zones) {
        shuffle(zone);
        for (Ranks& node : zone) shuffle(node);
        add_zone(among, zone);
    }
    end_inter(std::move(among), plan);
    for (const Zone& zone : zones) within_zone(zone, plan);
    for (const Zone& zone : zones) within_nodes(zone, plan);
    return plan;
}

// The head of a zone is the head of its first node.
void InterIntra::add_zone(Inter& among, const Zone& zone) {
    std::vector<Ranks> groups;
    const Ranks strays = without_head(zone, groups);
    const Rank head = zone.front().front();
    among.heads.push_back(head);
    if (strays.size() > 1) {
        groups.push_back(strays);
    } else if (!strays.empty() && !groups.empty()) {
        join_any(groups, strays.front());
    } else if (!strays.empty()) {
        among.beside.emplace(head, strays.front());
    }
    for (Ranks& group : groups) among.within.push_back(std::move(group));
}

// Divides all workers of the zone except its head. Returns the workers that would be alone, at most
// two: a single worker on the head's node, and a single worker on the only other node.
InterIntra::Ranks InterIntra::without_head(const Zone& zone, std::vector<Ranks>& ret_within) {
    Ranks strays;
    const auto divide_or_stray = [&](const Ranks& ranks) {
        if (ranks.size() == 1) {
            strays.push_back(ranks.front());
        } else {
            divide_into(ret_within, ranks);
        }
    };
    divide_or_stray(Ranks(zone.front().begin() + 1, zone.front().end()));
    // If there is one other node, its head has no head to meet and stays with its own node.
    if (zone.size() == 2) divide_or_stray(zone.back());
    if (zone.size() > 2) end_inter(inter_of(std::span(zone).subspan(1)), ret_within);
    return strays;
}

InterIntra::Inter InterIntra::inter_of(std::span<const Ranks> nodes) {
    Inter inter;
    for (const Ranks& node : nodes) add_node(inter, node);
    return inter;
}

void InterIntra::within_zone(const Zone& zone, std::vector<Ranks>& ret_plan) {
    if (zone.size() > 1) {
        end_inter(inter_of(zone), ret_plan);
    } else if (zone.front().size() > 1) {
        divide_into(ret_plan, zone.front());
    }
}

// A worker that is alone on its node is grouped with other such workers. If there are none, the
// worker joins a group of another node of its zone.
void InterIntra::within_nodes(const Zone& zone, std::vector<Ranks>& ret_plan) {
    std::vector<Ranks> groups;
    Ranks alone;
    for (const Ranks& node : zone) {
        if (node.size() > 1) {
            groups.push_back(node);
        } else {
            alone.push_back(node.front());
        }
    }
    if (alone.size() > 1) {
        divide_into(groups, std::move(alone));
    } else if (!alone.empty() && !groups.empty()) {
        join_any(groups, alone.front());
    }
    for (Ranks& group : groups) ret_plan.push_back(std::move(group));
}

}  // namespace pace::controller
