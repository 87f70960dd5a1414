// Groups: those that follow from the view, without the controller. How often a worker has averaged in this view says whom it
// meets next; all views begin at the same phase, so that members agree whatever happened before.
#include <algorithm>

#include "daemon/exchange/digest.h"
#include "daemon/exchange/groups.h"

namespace pace::daemon {

using base::ErrorKind;

namespace {

constexpr std::string_view kBuffersAlike =
    "a member of the group averages other buffers: all workers of a job call pace_average on "
    "buffers of equal types and lengths";

}  // namespace

bool Groups::are_static() const {
    return job_.options.policy == control::Policy::prague_static;
}

// Exchanges of the view that ends are given up, and their members meet anew in the next one.
void Groups::prepare(const base::Error& error) {
    if (!are_static()) return;
    may_begin_static_ = false;
    abort_all(error);
}

void Groups::commit_view() {
    if (!are_static()) return;
    static_groups_ = collectives::StaticGroups(job_.view.roster().nodes);
    for (const auto& [rank, worker] : job_.workers) worker->turn = 0;
    may_begin_static_ = true;
    begin_static();
}

// Begins every exchange whose members here have all called.
void Groups::begin_static() {
    while (may_begin_static_) {
        std::vector<WorkerPtr> members;
        for (const auto& [rank, worker] : job_.workers) {
            members = complete_with(*worker);
            if (!members.empty()) break;
        }
        if (members.empty()) return;
        run_static(members);
    }
}

bool Groups::is_ready_in_view(const WorkerPtr& worker) const {
    return worker && worker->state == Worker::State::ready && !worker->newcomer &&
           job_.view.node_of(worker->rank) == job_.services.self;
}

// The members here of the group that the worker meets next; none if one of them has not called for it.
std::vector<WorkerPtr> Groups::complete_with(const Worker& worker) const {
    std::vector<WorkerPtr> members;
    if (!is_ready_in_view(job_.find(worker.rank))) return {};
    for (const control::Rank rank : static_groups_.group_of(worker.rank, worker.turn)) {
        if (job_.view.node_of(rank) != job_.services.self) continue;
        const WorkerPtr member = job_.find(rank);
        if (!is_ready_in_view(member) || member->turn != worker.turn) return {};
        members.push_back(member);
    }
    return members;
}

void Groups::run_static(const std::vector<WorkerPtr>& members) {
    const Worker& first = *members.front();
    const std::vector<control::Rank> ranks = static_groups_.group_of(first.rank, first.turn);
    control::GroupOrder order;
    order.job = job_.id;
    order.group = mix(mix(job_.view.epoch, first.turn), ranks.front());
    order.digest = first.head().digest;
    // Of the members' iterations nothing is known, but that they have called as often as this one.
    for (const control::Rank rank : ranks)
        order.members.push_back({rank, job_.view.node_of(rank), first.head().iteration,
                                 1.0 / static_cast<double>(ranks.size())});
    const bool alike = std::all_of(members.begin(), members.end(), [&](const WorkerPtr& member) {
        return member->head().digest == order.digest;
    });
    for (const WorkerPtr& member : members) {
        ++member->turn;
        member->turn_epoch = job_.view.epoch;
    }
    Exchange::Plan plan;
    if (!alike) {
        send_poison(job_.services, number_of(order), nodes_of(order));
        fail_static(members);
        return;
    }
    plan_group(order, members, plan);
    plan.patient = true;
    run(order, members, std::move(plan));
}

void Groups::fail_static(const std::vector<WorkerPtr>& members) {
    for (const WorkerPtr& worker : members)
        job_.end_head(worker, failed(base::make_error(ErrorKind::mismatch, "{}", kBuffersAlike)));
}

// The members are ready again, for the next view; a view that has begun meanwhile has them already.
void Groups::retry_static(const std::vector<WorkerPtr>& members) {
    for (const WorkerPtr& worker : members) {
        worker->state = Worker::State::ready;
        if (!worker->newcomer || worker->port == nullptr) continue;
        // Suspended, or left behind with this node, meanwhile: its place is asked for anew.
        worker->state = Worker::State::idle;
        job_.advance(worker);
    }
    if (members.front()->turn_epoch == job_.view.epoch && may_begin_static_) {
        may_begin_static_ = false;
        job_.wants_view = true;
    }
    begin_static();
}

}  // namespace pace::daemon
