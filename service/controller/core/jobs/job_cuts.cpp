// Job cuts: which of the job's nodes cannot reach each other, and which nodes it leaves out.
#include <algorithm>

#include "service/controller/core/jobs/job.h"

namespace pace::controller {

LeftOut::Present Job::present() const {
    LeftOut::Present present;
    for (const Worker& worker : workers())
        if (is_taking_part(worker.state)) ++present[worker.node].workers;
    if (!server_) return present;
    for (const NodeId node : server_->hosts()) present[node].is_host = true;
    return present;
}

// A cut that existed before the node had workers in the job also counts.
bool Job::admits(const Worker& worker) {
    if (left_out_.empty() && cluster_.cuts.empty()) return true;
    return left_out_.admits(worker.node, cluster_.cuts, present());
}

// Connections between hosts, which no worker represents, begin anew with a view. A node outside of
// the job cannot have it form views.
void Job::on_cuts_changed(const std::vector<CutLinks::Pair>& pairs) {
    if (!server_) return;
    const std::vector<NodeId> in_view = nodes_of(views_.view().members);
    const auto needs_both = [&](const CutLinks::Pair& pair) {
        return is_needed(pair.low, in_view) && is_needed(pair.high, in_view);
    };
    if (std::any_of(pairs.begin(), pairs.end(), needs_both)) request_view(0);
}

void Job::follow_cuts(const Turn& turn) {
    if (!is_started() || (left_out_.empty() && cluster_.cuts.empty())) return;
    while (const auto node = left_out_.come_back(cluster_.cuts, present())) take_back(*node, turn);
    for (const NodeId node : left_out_.choose(cluster_.cuts, present())) leave_out(node, turn);
    // Nodes left out because of a node that has now been left out itself.
    while (const auto node = left_out_.come_back(cluster_.cuts, present())) take_back(*node, turn);
}

void Job::leave_out(NodeId node, const Turn& turn) {
    const NodeId other = cut_from(node, cluster_.cuts, present());
    const std::string reason =
        fmt::format("its node '{}' and node '{}' are cut from each other",
                    cluster_.nodes.name_of(node), cluster_.nodes.name_of(other));
    turn.warn(
        "node-left-out",
        fmt::format("job {} goes on without node '{}', which is cut from node '{}'", options_.name,
                    cluster_.nodes.name_of(node), cluster_.nodes.name_of(other)),
        {.job = options_.name, .node = cluster_.nodes.name_of(node)});
    for (Rank rank = 0; rank < workers().size(); ++rank)
        if (roster_.at(rank).node == node && is_taking_part(roster_.at(rank).state))
            suspend(rank, reason, turn);
}

void Job::take_back(NodeId node, const Turn& turn) {
    turn.note("node-back",
              fmt::format("job {}: node '{}' may take part again", options_.name,
                          cluster_.nodes.name_of(node)),
              {.job = options_.name, .node = cluster_.nodes.name_of(node)});
    for (Rank rank = 0; rank < workers().size(); ++rank) {
        const Worker& worker = roster_.at(rank);
        if (worker.node != node || !is_live(worker.state) || is_taking_part(worker.state)) continue;
        const auto kept = left_out_.take(rank);
        if (!kept) continue;
        begin_taking_part(rank, kept->wants_model, turn);
        if (kept->ready) on_ready(*kept->ready, turn);
    }
}

}  // namespace pace::controller
