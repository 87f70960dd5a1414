#include "service/controller/core/groups/places.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <vector>

namespace pace::controller {
namespace {

// Factors of the fastest pair's time.
constexpr double kNear = 3;
constexpr double kStaysNear = 4;
constexpr double kComesNear = 2;

// The time of the fastest pair, with or without labels; none if none was measured.
std::optional<double> fastest_of(std::span<const Places::Node> nodes, const LinkTable& links) {
    const auto has = [nodes](NodeId wanted) {
        const auto it =
            std::lower_bound(nodes.begin(), nodes.end(), wanted,
                             [](const Places::Node& node, NodeId id) { return node.node < id; });
        return it != nodes.end() && it->node == wanted;
    };
    std::optional<double> fastest;
    for (const Places::Node& node : nodes) {
        const auto own = links.all().find(node.node);
        if (own == links.all().end()) continue;
        for (const auto& [to, link] : own->second) {
            if (!has(to)) continue;
            const double time = *links.mebibyte_ns_between(node.node, to);
            fastest = std::min(fastest.value_or(time), time);
        }
    }
    return fastest;
}

}  // namespace

void Places::refresh(std::span<const Node> nodes, const LinkTable& links) {
    places_.clear();
    std::vector<NodeId> unlabelled;
    for (const Node& node : nodes)
        if (!node.has_label) unlabelled.push_back(node.node);
    if (unlabelled.size() > kNodesMax) unlabelled.clear();
    const auto is_gone = [&unlabelled](NodeId node) {
        return !std::binary_search(unlabelled.begin(), unlabelled.end(), node);
    };
    std::erase_if(near_, [&](const auto& pair) {
        return is_gone(pair.first.first) || is_gone(pair.first.second);
    });
    if (unlabelled.size() < 2) return;
    const auto fastest = fastest_of(nodes, links);
    if (fastest && judge(unlabelled, *fastest, links)) connect(unlabelled);
}

// False if a pair was not measured.
bool Places::judge(std::span<const NodeId> nodes, double fastest, const LinkTable& links) {
    bool complete = true;
    for (size_t i = 0; i < nodes.size(); ++i) {
        for (size_t j = i + 1; j < nodes.size(); ++j) {
            const auto time = links.mebibyte_ns_between(nodes[i], nodes[j]);
            if (!time) {
                complete = false;
                continue;
            }
            const auto known = near_.find({nodes[i], nodes[j]});
            const double most = known == near_.end() ? kNear
                                : known->second      ? kStaysNear
                                                     : kComesNear;
            near_[{nodes[i], nodes[j]}] = *time <= most * fastest;
        }
    }
    return complete;
}

void Places::connect(std::span<const NodeId> nodes) {
    // For each node the first node of its place, or itself. There are few nodes.
    std::vector<size_t> first(nodes.size());
    std::iota(first.begin(), first.end(), size_t{0});
    for (size_t i = 0; i < nodes.size(); ++i) {
        for (size_t j = i + 1; j < nodes.size(); ++j) {
            const size_t lower = std::min(first[i], first[j]);
            const size_t upper = std::max(first[i], first[j]);
            if (lower != upper && near_.at({nodes[i], nodes[j]}))
                std::replace(first.begin(), first.end(), upper, lower);
        }
    }
    uint32_t places = 0;
    for (size_t i = 0; i < nodes.size(); ++i)
        places_[nodes[i]] = first[i] == i ? kFirstPlace + places++ : places_.at(nodes[first[i]]);
    if (places < 2) places_.clear();
}

uint32_t Places::place_of(NodeId node) const {
    const auto place = places_.find(node);
    return place == places_.end() ? 0 : place->second;
}

}  // namespace pace::controller
