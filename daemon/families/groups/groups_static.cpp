// Groups: static groups follow from the view, without the controller. The number of a worker's
// averages in this view determines whom it meets next. All views begin at the same phase, so that
// members agree whatever happened before.
#include <algorithm>
#include <utility>

#include "daemon/families/groups/groups.h"
#include "daemon/members/alike.h"
#include "daemon/members/call_text.h"
#include "daemon/runtime/exchange_number.h"
#include "daemon/runtime/mix.h"

namespace pace::daemon {

using base::ErrorKind;

bool Groups::are_static() const {
    return job_.options.policy == control::Policy::prague_static;
}

// Exchanges of the view that ends are given up; their members meet anew in the next view.
void Groups::prepare(const base::Error& error) {
    if (!are_static()) return;
    invalidate(error);
}

void Groups::commit_view() {
    if (!are_static()) return;
    leave_static();
    static_groups_ = protocol::StaticGroups(job_.view.roster().nodes);
    static_epoch_ = job_.view.epoch;
    static_token_ = job_.token;
    for (const auto& [rank, worker] : job_.workers) worker->turn = 0;
    may_begin_static_ = true;
    begin_all_static();
}

control::GroupId Groups::static_group(const std::vector<control::Rank>& ranks,
                                      uint64_t turn) const {
    return mix(mix(static_epoch_, turn), ranks.front());
}

// Nobody here begins another group of this view.
void Groups::leave_static() {
    if (static_epoch_ == 0) return;
    for (const auto& [rank, worker] : job_.workers) forget_static_of(*worker);
    static_epoch_ = 0;
}

// The worker begins no other group of this view: what others have sent for one is dropped. A node
// that does not meet the workers here in between may be ahead by as many turns as there are phases.
void Groups::forget_static_of(const Worker& worker) {
    if (static_epoch_ == 0) return;
    for (uint64_t turn = worker.turn; turn < worker.turn + protocol::StaticGroups::kPhases;
         ++turn) {
        const std::vector<control::Rank> ranks = static_groups_.group_of(worker.rank, turn);
        if (ranks.size() <= 1) continue;
        control::GroupOrder order;
        order.group = static_group(ranks, turn);
        forget(order);
    }
}

void Groups::begin_all_static() {
    // Exchanges that end at once may change the job's workers.
    std::vector<WorkerPtr> workers;
    for (const auto& [rank, worker] : job_.workers) workers.push_back(worker);
    for (const WorkerPtr& worker : workers) begin_static(*worker);
}

// Begins the worker's next exchange, if all members of it here have called.
void Groups::begin_static(const Worker& worker) {
    if (!may_begin_static_) return;
    const std::vector<WorkerPtr> members = complete_with(worker);
    if (!members.empty()) run_static(members);
}

// The members here of the worker's next group; empty if one of them has not called for it.
std::vector<WorkerPtr> Groups::complete_with(const Worker& worker) const {
    std::vector<WorkerPtr> members;
    for (const control::Rank rank : static_groups_.group_of(worker.rank, worker.turn)) {
        if (job_.view.node_of(rank) != job_.services.self) continue;
        const WorkerPtr member = job_.find(rank);
        const bool has_called =
            member && member->state == Worker::State::ready && !member->newcomer;
        if (!has_called || member->lagging || member->turn != worker.turn) return {};
        members.push_back(member);
    }
    return members;
}

void Groups::run_static(const std::vector<WorkerPtr>& members) {
    const Worker& first = *members.front();
    const std::vector<control::Rank> ranks = static_groups_.group_of(first.rank, first.turn);
    control::GroupOrder order;
    order.job = job_.id;
    order.group = static_group(ranks, first.turn);
    order.digest = first.head().digest;
    // The members' iterations are not known yet. It is known only that all have called as often as
    // this member.
    for (const control::Rank rank : ranks)
        order.members.push_back({rank, job_.view.node_of(rank), first.head().iteration,
                                 1.0 / static_cast<double>(ranks.size()), job_.view.zone_of(rank),
                                 job_.view.nccl_of(rank)});
    const WorkerPtr unlike = first_unlike(members);
    for (const WorkerPtr& member : members) {
        ++member->turn;
        member->turn_epoch = job_.view.epoch;
    }
    Exchange::Plan plan;
    if (unlike) {
        const base::Error error = unlike_calls(*members.front(), *unlike);
        send_poison(job_.services, number_of(order), nodes_of(order));
        end_members(members, error);
        return;
    }
    plan_group(order, members, plan);
    plan.patient = true;
    for (const NodeId node : plan.nodes) {
        auto& iterations = plan.numbers.emplace_back();
        for (const control::Part& part : order.members)
            if (part.node == node) iterations.push_back(0);
    }
    for (size_t i = 0; i < members.size(); ++i)
        plan.numbers[plan.self][i] = members[i]->head().iteration;
    run(order, members, std::move(plan));
}

// The order, with the iterations that its members' nodes have told each other during the exchange.
control::GroupOrder Groups::with_iterations(const control::GroupOrder& order,
                                            const Exchange& exchange) {
    control::GroupOrder told = order;
    const Exchange::Plan& plan = exchange.plan();
    std::vector<size_t> next(plan.nodes.size(), 0);
    told.iteration = 0;
    for (control::Part& part : told.members) {
        const auto node = static_cast<size_t>(
            std::find(plan.nodes.begin(), plan.nodes.end(), part.node) - plan.nodes.begin());
        part.iteration = plan.numbers[node][next[node]++];
        told.iteration = std::max(told.iteration, part.iteration);
    }
    return told;
}

// Adds the group to the next heartbeat's report. The order has its members in node order; here
// those of one node are by rank.
void Groups::note_ended(const control::GroupOrder& order, const std::vector<WorkerPtr>& members,
                        const Exchange& exchange) {
    const uint64_t now = base::now_ns();
    control::GroupReport report;
    report.group = order.group;
    report.iteration = members.front()->head().iteration;
    report.moving_ns = now - members.front()->moving_since_ns;
    report.bytes = exchange.traffic().bytes_sent;
    for (const control::Part& part : order.members) report.members.push_back(part.rank);
    std::sort(report.members.begin(), report.members.end());
    for (const WorkerPtr& worker : members) report.waited_ns.push_back(worker->queued_ns());
    const bool counts = members.front()->rank == report.members.front();
    ended_static_.add(std::move(report), counts, now);
}

// A controller that has not accepted these workers again yet would not believe the report.
void Groups::report(std::vector<control::GroupReport>& ret_reports) {
    const bool resuming = std::any_of(job_.workers.begin(), job_.workers.end(),
                                      [](const auto& entry) { return entry.second->resuming; });
    if (!resuming) ended_static_.take(job_.id, base::now_ns(), ret_reports);
}

void Groups::end_unlike(const std::vector<WorkerPtr>& members, NodeId unlike) {
    for (const WorkerPtr& worker : members)
        job_.end_head(worker, failed(base::make_error(
                                  ErrorKind::mismatch,
                                  "worker {} called {} and {} something else: {}", worker->rank,
                                  call_text(worker->head()), job_.caller_at(unlike), kCallAlike)));
}

// Begins no other group in the view over which these members met.
void Groups::ask_for_view(const std::vector<WorkerPtr>& members) {
    if (members.front()->turn_epoch != job_.view.epoch || !may_begin_static_) return;
    may_begin_static_ = false;
    job_.wants_view = true;
}

// Skips members whose trainers are gone.
void Groups::end_members(const std::vector<WorkerPtr>& members, const base::Error& error) {
    for (const WorkerPtr& worker : members)
        if (worker->port != nullptr) job_.end_head(worker, failed(error));
}

// Unless they disagree, the members are ready again for the next view. If that view has begun
// meanwhile, it has them as members already.
void Groups::failed_static(const std::vector<WorkerPtr>& members, const base::Error& error,
                           NodeId unlike) {
    if (error.kind == ErrorKind::mismatch) {
        end_unlike(members, unlike);
        return;
    }
    for (const WorkerPtr& worker : members) {
        worker->wait_again(Worker::State::ready);
        if (worker->newcomer && worker->port != nullptr) ask_again(worker);
    }
    ask_for_view(members);
    for (const WorkerPtr& worker : members) begin_static(*worker);
}

}  // namespace pace::daemon
