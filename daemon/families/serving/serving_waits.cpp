// Serving: whom, or what, a worker waits for, in words for people. Follows the controller's rules
// (service/controller/core/server.cpp), as far as this node has heard the order.
#include <algorithm>
#include <set>

#include "daemon/control/controller.h"
#include "daemon/families/serving/serving.h"
#include "daemon/members/wait.h"

namespace pace::daemon {

// The workers that hold back a pull of this clock; empty: none.
std::string Serving::slow_workers(uint64_t clock) const {
    constexpr size_t kNamed = 8;
    const control::JobOptions& options = job_.options;
    if (options.policy == control::Policy::asp) return {};
    const uint64_t staleness = options.policy == control::Policy::ssp ? options.staleness : 0;
    std::string text;
    size_t slow = 0;
    for (const auto& [rank, worker] : host_.ledger().workers) {
        if (!job_.view.contains(rank) || worker.clock + staleness >= clock) continue;
        if (++slow > kNamed) continue;
        const NodeId node = job_.view.node_of(rank);
        text +=
            fmt::format("{}worker {} on {}, which is at step {}", slow == 1 ? "" : ", ", rank,
                        node == job_.services.self ? "this node" : job_.services.peers.name(node),
                        worker.clock);
    }
    if (slow > kNamed) text += fmt::format(", and {} more", slow - kNamed);
    if (slow == 0) return text;
    return fmt::format("{} (a pull for step {} waits for all to have come to step {})", text, clock,
                       clock - std::min(clock, staleness));
}

// The nodes that have not taken the worker's updates.
std::string Serving::nodes_of_updates(control::Rank rank) const {
    const std::vector<NodeId> nodes = pushes_.missing(rank);
    return nodes.empty() ? "the controller to order them"
                         : "a shard's node: " + job_.services.peers.names(nodes);
}

std::string Serving::awaited(const Worker& worker) const {
    const Request& request = worker.head();
    if (awaits_root(worker))
        return fmt::format("worker {} to come back, the root of this pace_broadcast", request.root);
    if (lost_) return "a pace_broadcast of all, which gives the job a model";
    if (!has_view()) return "a view of the job in which nodes keep its model";
    if (pulls_.is_writing(worker.rank)) return "the model to be written to its buffers";
    if (host_.awaited_round()) return "the model of a pace_broadcast to come to this node";
    if (!pulls_.asks(worker.rank)) return "its place among those who pull";
    const uint64_t own = next_clock(worker.rank);
    if (!host_.has_ordered(worker.rank, own == 0 ? 0 : own - 1) && own != 0)
        return "its own pushes, which wait for " + nodes_of_updates(worker.rank);
    if (std::string slow = slow_workers(joins(worker) ? 0 : request.iteration); !slow.empty())
        return slow;
    if (!job_.services.control->attached()) return kNoController;
    std::set<NodeId> places(host_.places().begin(), host_.places().end());
    places.erase(job_.services.self);
    if (places.empty()) return "the model, which is kept on this node";
    return "the model, from " + job_.services.peers.names({places.begin(), places.end()});
}

void Serving::for_each_aside(
    control::Rank rank,
    const std::function<void(const Request&, const std::string& what)>& visit) const {
    if (const auto taking = taking_.find(rank); taking != taking_.end())
        visit(*taking->second, "its update to be cut into shards here");
    if (const auto waiting = waiting_.find(rank); waiting != waiting_.end()) {
        for (const Request& request : waiting->second)
            visit(request, !has_view() ? "a view of the job in which nodes keep its model"
                                       : fmt::format("its {} pushes before, which wait for {}",
                                                     Pushes::kWindow, nodes_of_updates(rank)));
    }
    saving_.for_each_asked(rank, [&](const Request& request, uint64_t own) {
        const bool is_ordered = own == 0 || host_.has_ordered(rank, own - 1);
        const std::vector<NodeId> places = host_.places();
        const std::set<NodeId> nodes(places.begin(), places.end());
        visit(request, is_ordered
                           ? fmt::format("the shards to be on the disks of their nodes: {}",
                                         job_.services.peers.names({nodes.begin(), nodes.end()}))
                           : "its own pushes, which wait for " + nodes_of_updates(rank));
    });
}

}  // namespace pace::daemon
