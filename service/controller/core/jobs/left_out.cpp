#include "service/controller/core/jobs/left_out.h"

#include <algorithm>

#include "service/controller/core/jobs/fewest_to_leave.h"

namespace pace::controller {

namespace {

// Whether a cut to this node keeps workers of another from taking part.
bool matters(const LeftOut::Presence& other) {
    return other.workers > 0 || other.is_host;
}

bool has_hosts(const LeftOut::Present& present) {
    return std::any_of(present.begin(), present.end(),
                       [](const auto& entry) { return entry.second.is_host; });
}

// The fewest nodes to leave out. A node that is alone in saying that it is cut from another one
// leaves itself: nobody can have another node left out by its word alone.
std::vector<NodeId> fewest_of(const CutLinks& cuts, const LeftOut::Present& present) {
    std::vector<CutLinks::Pair> among;
    std::set<NodeId> chosen;
    for (const auto& [pair, cut] : cuts.all()) {
        if (!cut.counts || !present.contains(pair.low) || !present.contains(pair.high)) continue;
        among.push_back(pair);
        if (const NodeId alone = cuts.lone_reporter(pair)) chosen.insert(alone);
    }
    std::erase_if(among, [&chosen](const CutLinks::Pair& pair) {
        return chosen.contains(pair.low) || chosen.contains(pair.high);
    });
    std::map<NodeId, uint32_t> workers;
    for (const auto& [node, presence] : present) workers.emplace(node, presence.workers);
    for (const NodeId node : fewest_to_leave(among, workers)) chosen.insert(node);
    return {chosen.begin(), chosen.end()};
}

}  // namespace

NodeId cut_from(NodeId node, const CutLinks& cuts, const LeftOut::Present& present) {
    // If a model is on hosts, workers need the hosts and not each other.
    const bool hosted = has_hosts(present);
    for (const NodeId other : cuts.others_of(node)) {
        const auto found = present.find(other);
        if (found == present.end() || !matters(found->second)) continue;
        if (hosted && !found->second.is_host) continue;
        if (hosted ? cuts.keeps_from_host(node, other) : cuts.is_cut(node, other)) return other;
    }
    return 0;
}

bool LeftOut::is_apart(NodeId node, const CutLinks& cuts, const Present& present) {
    return cut_from(node, cuts, present) != 0;
}

std::vector<NodeId> LeftOut::choose(const CutLinks& cuts, const Present& present) {
    // Called after every event, and between the halves of a large cluster there are very many cuts.
    if (seen_cuts_ == cuts.version() && seen_present_ == present) return {};
    std::vector<NodeId> chosen;
    if (has_hosts(present)) {
        for (const auto& [node, presence] : present)
            if (presence.workers > 0 && is_apart(node, cuts, present)) chosen.push_back(node);
    } else {
        chosen = fewest_of(cuts, present);
    }
    nodes_.insert(chosen.begin(), chosen.end());
    // A node left out now is no longer present in the next call.
    const bool is_settled = chosen.empty();
    seen_cuts_ = is_settled ? cuts.version() : 0;
    seen_present_ = is_settled ? present : Present{};
    return chosen;
}

std::optional<NodeId> LeftOut::come_back(const CutLinks& cuts, const Present& present) {
    const auto back = std::find_if(nodes_.begin(), nodes_.end(),
                                   [&](NodeId node) { return !is_apart(node, cuts, present); });
    if (back == nodes_.end()) return std::nullopt;
    const NodeId node = *back;
    nodes_.erase(back);
    return node;
}

bool LeftOut::admits(NodeId node, const CutLinks& cuts, const Present& present) {
    if (nodes_.contains(node)) return false;
    if (!is_apart(node, cuts, present)) return true;
    nodes_.insert(node);
    return false;
}

void LeftOut::keep(Rank rank, bool wants_model) {
    kept_[rank].wants_model = wants_model;
}

void LeftOut::keep(const From<Ready>& ready) {
    kept_[ready.rank].ready = ready;
}

std::optional<LeftOut::Kept> LeftOut::take(Rank rank) {
    const auto found = kept_.find(rank);
    if (found == kept_.end()) return std::nullopt;
    std::optional<Kept> kept(found->second);
    kept_.erase(found);
    return kept;
}

}  // namespace pace::controller
