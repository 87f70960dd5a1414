#include "service/controller/core/nodes/cut_links.h"

#include <algorithm>
#include <utility>

namespace pace::controller {

CutLinks::Outcome CutLinks::report(const From<LinkCut>& event, size_t attached, TimePoint now) {
    const Pair pair = pair_of(event.node, event.peer);
    if (pair.low == pair.high) return Outcome::other;
    auto found = cuts_.find(pair);
    if (found == cuts_.end()) {
        if (!event.cut || cuts_.size() >= cuts_max(attached)) return Outcome::other;
        const auto silent =
            std::chrono::milliseconds(std::min<uint64_t>(event.silent_ms, 1U << 30U));
        found = cuts_.emplace(pair, Cut{.since = now, .silent = silent}).first;
        others_[pair.low].insert(pair.high);
        others_[pair.high].insert(pair.low);
        if (!first_unsettled_) first_unsettled_ = now;
        last_unsettled_ = now;
    }
    Cut& cut = found->second;
    bool& says = event.node == pair.low ? cut.low_says : cut.high_says;
    const bool is_news = std::exchange(says, event.cut) != event.cut;
    if (!event.cut) (event.node == pair.low ? cut.low_waits : cut.high_waits) = false;
    if (cut.low_says || cut.high_says) {
        if (!is_news || !cut.counts) return Outcome::other;
        ++version_;
        return Outcome::said_anew;
    }
    const bool counted = cut.counts;
    erase(pair);
    return counted ? Outcome::whole : Outcome::interrupted;
}

bool CutLinks::waits(NodeId node, NodeId other) {
    const Pair pair = pair_of(node, other);
    const auto found = cuts_.find(pair);
    if (found == cuts_.end()) return false;
    bool& waits = node == pair.low ? found->second.low_waits : found->second.high_waits;
    if (std::exchange(waits, true) || !found->second.counts) return false;
    ++version_;
    return true;
}

void CutLinks::forget(NodeId node) {
    const std::set<NodeId> others = others_of(node);
    for (const NodeId other : others) erase(pair_of(node, other));
}

void CutLinks::erase(Pair pair) {
    const auto found = cuts_.find(pair);
    if (found->second.counts) ++version_;
    cuts_.erase(found);
    const auto forget_one = [this](NodeId node, NodeId other) {
        const auto others = others_.find(node);
        others->second.erase(other);
        if (others->second.empty()) others_.erase(others);
    };
    forget_one(pair.low, pair.high);
    forget_one(pair.high, pair.low);
}

const std::set<NodeId>& CutLinks::others_of(NodeId node) const {
    static const std::set<NodeId> kNone;
    const auto found = others_.find(node);
    return found == others_.end() ? kNone : found->second;
}

std::optional<TimePoint> CutLinks::next_deadline() const {
    if (!first_unsettled_) return std::nullopt;
    return std::min(*first_unsettled_ + kQuietMax, last_unsettled_ + kQuiet);
}

std::vector<CutLinks::Pair> CutLinks::settle(TimePoint now) {
    const auto due = next_deadline();
    if (!due || now < *due) return {};
    first_unsettled_.reset();
    std::vector<Pair> more;
    for (auto& [pair, cut] : cuts_)
        if (!std::exchange(cut.counts, true)) more.push_back(pair);
    if (!more.empty()) ++version_;
    return more;
}

NodeId CutLinks::lone_reporter(Pair pair) const {
    const auto found = cuts_.find(pair);
    if (found == cuts_.end() || !found->second.counts) return 0;
    if (found->second.low_says && found->second.high_says) return 0;
    const NodeId reporter = found->second.low_says ? pair.low : pair.high;
    const NodeId silent = reporter == pair.low ? pair.high : pair.low;
    for (const NodeId other : others_of(silent)) {
        if (other == reporter) continue;
        const auto also = cuts_.find(pair_of(silent, other));
        if (other == also->first.low ? also->second.low_says : also->second.high_says) return 0;
    }
    return reporter;
}

bool CutLinks::keeps_from_host(NodeId node, NodeId host) const {
    const Pair pair = pair_of(node, host);
    const auto found = cuts_.find(pair);
    if (found == cuts_.end() || !found->second.counts) return false;
    const bool waits = node == pair.low ? found->second.low_waits : found->second.high_waits;
    return waits || lone_reporter(pair) != host;
}

bool CutLinks::is_cut(NodeId a, NodeId b) const {
    const auto found = cuts_.find(pair_of(a, b));
    return found != cuts_.end() && found->second.counts;
}

}  // namespace pace::controller
