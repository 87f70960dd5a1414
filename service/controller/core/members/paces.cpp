#include "service/controller/core/members/paces.h"

#include <algorithm>
#include <map>
#include <set>

namespace pace::controller {
namespace {

bool may_be_waited_for(WorkerState state) {
    return is_taking_part(state) || state == WorkerState::suspended ||
           state == WorkerState::missing;
}

// The median time for a mebibyte, for each node with measured links from or to others of `nodes`.
std::map<NodeId, Duration> mebibytes_of(const std::set<NodeId>& nodes, const LinkTable& links) {
    std::map<NodeId, std::vector<double>> times;
    for (const auto& [from, own] : links.all()) {
        if (!nodes.contains(from)) continue;
        for (const auto& [to, link] : own) {
            if (!nodes.contains(to)) continue;
            times[from].push_back(mebibyte_ns(link));
            times[to].push_back(mebibyte_ns(link));
        }
    }
    std::map<NodeId, Duration> medians;
    for (auto& [node, all] : times) {
        const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
        std::nth_element(all.begin(), middle, all.end());
        medians[node] = Duration(static_cast<int64_t>(*middle));
    }
    return medians;
}

}  // namespace

std::optional<Duration> silence_of(const Cluster& cluster, NodeId id, TimePoint now) {
    const Node* node = cluster.nodes.find(id);
    if (node == nullptr || node->generation == 0)
        return Duration{};  // silent since the controller began
    const Duration silent = now - node->liveness.heard();
    const bool is_unusual =
        !node->attached || node->probe_deadline || silent >= node->liveness.patience() / 4 * 3;
    return is_unusual ? std::optional(silent) : std::nullopt;
}

std::vector<Pace> paces_of(const std::vector<Worker>& workers, const Cluster& cluster,
                           TimePoint now) {
    std::set<NodeId> nodes;
    for (const Worker& worker : workers)
        if (may_be_waited_for(worker.state)) nodes.insert(worker.node);
    // With two nodes, both share the single link.
    const auto mebibytes =
        nodes.size() > 2 ? mebibytes_of(nodes, cluster.links) : std::map<NodeId, Duration>();
    std::vector<Pace> paces;
    for (Rank rank = 0; rank < workers.size(); ++rank) {
        const Worker& worker = workers[rank];
        if (!may_be_waited_for(worker.state)) continue;
        Pace& pace = paces.emplace_back();
        pace.rank = rank;
        pace.activity = worker.activity;
        pace.active = worker.active;
        if (worker.stopped_since) pace.stopped = now - *worker.stopped_since;
        pace.silent = silence_of(cluster, worker.node, now);
        pace.step = worker.computed.is_told() ? worker.computed.median() : worker.steps.median();
        pace.exchange = worker.exchanged.median();
        if (const auto found = mebibytes.find(worker.node); found != mebibytes.end())
            pace.mebibyte = found->second;
    }
    return paces;
}

}  // namespace pace::controller
