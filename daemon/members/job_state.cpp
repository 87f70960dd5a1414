#include "daemon/members/job_state.h"

#include <algorithm>
#include <utility>

#include "daemon/members/alike.h"
#include "daemon/members/call_text.h"

namespace pace::daemon {

bool View::contains(control::Rank rank) const {
    return node_of(rank) != 0;
}

const control::Member* View::find(control::Rank rank) const {
    const auto member =
        std::lower_bound(members.begin(), members.end(), rank,
                         [](const control::Member& m, control::Rank r) { return m.rank < r; });
    return member != members.end() && member->rank == rank ? &*member : nullptr;
}

NodeId View::node_of(control::Rank rank) const {
    const control::Member* member = find(rank);
    return member != nullptr ? member->node : 0;
}

uint32_t View::zone_of(control::Rank rank) const {
    const control::Member* member = find(rank);
    return member != nullptr ? member->zone : 0;
}

uint32_t View::nccl_of(control::Rank rank) const {
    const control::Member* member = find(rank);
    return member != nullptr ? member->nccl : 0;
}

bool View::contains_node(NodeId node) const {
    return std::any_of(members.begin(), members.end(),
                       [node](const control::Member& member) { return member.node == node; });
}

std::vector<NodeId> View::nodes() const {
    std::vector<NodeId> nodes;
    for (const control::Member& member : members) {
        if (std::find(nodes.begin(), nodes.end(), member.node) == nodes.end())
            nodes.push_back(member.node);
    }
    return nodes;
}

// A fact of each of nodes(), in their order, as the members state it.
std::vector<uint32_t> View::of_nodes(uint32_t control::Member::*fact) const {
    std::vector<uint32_t> facts;
    for (const NodeId node : nodes()) {
        const auto first =
            std::find_if(members.begin(), members.end(),
                         [node](const control::Member& member) { return member.node == node; });
        facts.push_back((*first).*fact);
    }
    return facts;
}

partial::Roster View::roster() const {
    partial::Roster roster;
    for (const NodeId node : nodes()) {
        std::vector<partial::Rank>& ranks = roster.nodes.emplace_back();
        for (const control::Member& member : members)
            if (member.node == node) ranks.push_back(member.rank);
    }
    return roster;
}

std::string JobState::caller_at(NodeId node) const {
    if (node == 0) return "a worker on another node";
    std::vector<control::Rank> ranks;
    for (const control::Member& member : view.members)
        if (member.node == node) ranks.push_back(member.rank);
    return caller_text(services.peers.name(node), ranks);
}

std::string JobState::workers_at(const std::vector<NodeId>& nodes) const {
    constexpr size_t kNamed = 4;
    std::string text;
    for (size_t i = 0; i < std::min(nodes.size(), kNamed); ++i)
        text += (i == 0 ? "" : ", ") + caller_at(nodes[i]);
    if (nodes.size() > kNamed) text += fmt::format(" and {} more nodes", nodes.size() - kNamed);
    return text;
}

std::string JobState::not_called(const std::vector<control::Rank>& ranks) {
    constexpr size_t kNamed = 16;
    const size_t named = std::min(ranks.size(), kNamed);
    return fmt::format(
        "{} {}{} on this node, which {} not called", ranks.size() == 1 ? "worker" : "workers",
        fmt::join(ranks.begin(), ranks.begin() + static_cast<ptrdiff_t>(named), ", "),
        ranks.size() > named ? fmt::format(" and {} more", ranks.size() - named) : "",
        ranks.size() == 1 ? "has" : "have");
}

bool JobState::lacks_root(const Request& request) const {
    return request.verb == protocol::Verb::broadcast && !view.contains(request.root);
}

base::Duration JobState::left_for_root(const Request& request) {
    const std::chrono::nanoseconds waited(base::now_ns() - request.submitted_ns);
    return std::max<base::Duration>(kRootWait - waited, base::Duration{});
}

std::string JobState::root_to_come(const Request& request) {
    return fmt::format("worker {} to come back, the root of this pace_broadcast", request.root);
}

std::string JobState::cut_off() const {
    for (const NodeId node : view.nodes())
        if (services.peers.is_cut(node))
            return fmt::format("no bytes pass between this node and {}", services.peers.name(node));
    return {};
}

WorkerPtr JobState::find(control::Rank rank) const {
    const auto worker = workers.find(rank);
    return worker == workers.end() ? nullptr : worker->second;
}

std::vector<WorkerPtr> JobState::local_members() const {
    std::vector<WorkerPtr> members;
    for (const control::Member& member : view.members) {
        if (member.node != services.self) continue;
        WorkerPtr worker = find(member.rank);
        if (!worker) return {};
        members.push_back(std::move(worker));
    }
    return members;
}

void JobState::end_head(const WorkerPtr& worker, Ending ending) {
    if (ending.outcome == protocol::Outcome::done) note_age(*worker);
    const Request request = std::move(worker->queue.front());
    worker->queue.pop_front();
    worker->state = Worker::State::idle;
    worker->withdrawing = false;
    worker->lagging = false;
    worker->handed_in = false;
    const base::TimePoint now = base::now();
    if (worker->queue.empty())
        worker->begin_computing(now);
    else
        worker->times.go_on(now);
    ++services.counters.requests;
    if (ending.outcome == protocol::Outcome::failed) ++services.counters.requests_failed;
    if (ending.outcome != protocol::Outcome::done) ending.iteration = worker->iteration;
    if (worker->port != nullptr) worker->port->request_ended(request.id, ending);
    // Deferred, so that a caller which ends several workers' requests is not entered again
    // half-way.
    if (!worker->queue.empty())
        services.loop.defer(scope.callback([this, worker] {
            if (worker->state == Worker::State::idle && !worker->queue.empty())
                port->advance(worker);
        }));
}

void JobState::end_all(const WorkerPtr& worker, const Ending& ending) {
    const bool keep_head =
        worker->state == Worker::State::moving || worker->state == Worker::State::taking;
    std::deque<Request> ending_requests;
    ending_requests.swap(worker->queue);
    if (keep_head && !ending_requests.empty()) {
        worker->queue.push_back(std::move(ending_requests.front()));
        ending_requests.pop_front();
    } else {
        worker->state = Worker::State::idle;
        worker->withdrawing = false;
        worker->lagging = false;
        worker->handed_in = false;
        worker->begin_computing(base::now());
    }
    Ending filled = ending;
    filled.iteration = worker->iteration;
    for (const Request& request : ending_requests) {
        ++services.counters.requests;
        if (worker->port != nullptr) worker->port->request_ended(request.id, filled);
    }
}

std::shared_ptr<Scratch> JobState::place_for_initial(const collectives::Layout& layout) {
    if (!keeps_initial() || initial.valid || initial.is_coming) return nullptr;
    if (!initial.memory->reserve(layout.bytes(), payer())) return nullptr;
    initial.is_coming = true;
    return initial.memory;
}

void JobState::initial_came(collectives::Layout layout) {
    initial.layout = std::move(layout);
    initial.is_coming = false;
    initial.valid = true;
}

bool JobState::has_initial(const std::vector<BufferPtr>& buffers) const {
    return initial.valid && fit(buffers, initial.layout);
}

}  // namespace pace::daemon
