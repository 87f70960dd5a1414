#include "daemon/families/groups/static_orders.h"

#include <algorithm>
#include <utility>

#include "daemon/members/alike.h"
#include "daemon/members/call_text.h"

namespace pace::daemon {

using base::ErrorKind;

namespace {

// What the members here tell the other nodes during the exchange, and where these nodes' iterations
// will be.
std::vector<std::vector<uint64_t>> iterations_of(const Group& group, const Exchange::Plan& plan) {
    std::vector<std::vector<uint64_t>> iterations(plan.nodes.size());
    for (size_t i = 0; i < plan.nodes.size(); ++i)
        for (const control::Part& part : group.order.members)
            if (part.node == plan.nodes[i]) iterations[i].push_back(0);
    for (size_t i = 0; i < group.members.size(); ++i)
        iterations[plan.self][i] = group.members[i]->head().iteration;
    return iterations;
}

}  // namespace

void StaticOrders::begin_view() {
    leave_view();
    schedule_ = StaticSchedule(job_.view, job_.token);
    // Exchanges that end at once may change the job's workers.
    std::vector<WorkerPtr> workers;
    for (const auto& [rank, worker] : job_.workers) {
        worker->turn = 0;
        workers.push_back(worker);
    }
    may_begin_ = true;
    for (const WorkerPtr& worker : workers) begin_with(*worker);
}

void StaticOrders::leave_view() {
    for (const auto& [rank, worker] : job_.workers) left(*worker);
    schedule_ = {};
}

void StaticOrders::left(const Worker& worker) {
    for (const control::GroupId group : schedule_.may_be_begun(worker))
        running_.forget(group, schedule_.number_of(group));
}

void StaticOrders::called(Worker& worker) {
    wait_for_group(worker);
    // A static group's members are in no other group before it has met, so an early begin gains
    // nothing.
    worker.lagging = !worker.head().is_made();
    begin_with(worker);
}

// Begins the worker's next group, if all members of it here have called for it.
void StaticOrders::begin_with(const Worker& worker) {
    if (!may_begin_) return;
    const std::vector<WorkerPtr> members = complete_with(worker);
    if (!members.empty()) run(members);
}

// The members here of the worker's next group; empty if one of them has not called for it.
std::vector<WorkerPtr> StaticOrders::complete_with(const Worker& worker) const {
    std::vector<WorkerPtr> members;
    for (const control::Rank rank : schedule_.next(worker)) {
        if (job_.view.node_of(rank) != job_.services.self) continue;
        const WorkerPtr member = job_.find(rank);
        const bool has_called =
            member && member->state == Worker::State::ready && !member->newcomer;
        if (!has_called || member->lagging || member->turn != worker.turn) return {};
        members.push_back(member);
    }
    return members;
}

void StaticOrders::run(const std::vector<WorkerPtr>& members) {
    Group group{schedule_.order(job_.id, *members.front(), job_.view), members, 0};
    group.number = schedule_.number_of(group.id());
    for (const WorkerPtr& member : members) {
        ++member->turn;
        member->turn_epoch = job_.view.epoch;
    }
    if (const WorkerPtr unlike = first_unlike(members)) {
        const base::Error error = unlike_calls(*members.front(), *unlike);
        send_poison(job_.services, group.number, nodes_of(group.order));
        end_calls(job_, group, error);
        return;
    }
    Exchange::Plan plan;
    plan_group(job_, group, plan);
    plan.patient = true;
    plan.numbers = iterations_of(group, plan);
    running_.run(*this, group, std::move(plan));
}

void StaticOrders::ended(const Group& group, const ExchangeOutcome& outcome) {
    if (outcome)
        note_ended(group, outcome);
    else if (RunningGroups::ends_calls(outcome))
        ask_for_view(group);
}

// Adds the group to the next heartbeat's report. The order has its members in node order; here
// those of one node are by rank.
void StaticOrders::note_ended(const Group& group, const ExchangeOutcome& outcome) {
    const uint64_t now = base::now_ns();
    const Worker& first = *group.members.front();
    control::GroupReport report;
    report.group = group.id();
    report.iteration = first.head().iteration;
    report.moving_ns = now - first.moving_since_ns;
    report.bytes = outcome.traffic.bytes_sent;
    for (const control::Part& part : group.order.members) report.members.push_back(part.rank);
    std::sort(report.members.begin(), report.members.end());
    for (const WorkerPtr& worker : group.members) report.waited_ns.push_back(worker->queued_ns());
    const bool counts = first.rank == report.members.front();
    ended_.add(std::move(report), counts, now);
}

// A controller that has not accepted these workers again yet would not believe the report.
void StaticOrders::report(std::vector<control::GroupReport>& ret_reports) {
    const bool resuming = std::any_of(job_.workers.begin(), job_.workers.end(),
                                      [](const auto& entry) { return entry.second->resuming; });
    if (!resuming) ended_.take(job_.id, base::now_ns(), ret_reports);
}

// Unless they disagree, the members are ready again for the next view. If that view has begun
// meanwhile, it has them as members already.
void StaticOrders::try_again(const Group& group, const ExchangeOutcome& outcome) {
    if (outcome.error().kind == ErrorKind::mismatch) {
        end_unlike(group, outcome.unlike);
        return;
    }
    for (const WorkerPtr& worker : group.members) {
        worker->wait_again(Worker::State::ready);
        if (worker->newcomer && worker->port != nullptr) ask_for_place(job_, worker);
    }
    ask_for_view(group);
    for (const WorkerPtr& worker : group.members) begin_with(*worker);
}

void StaticOrders::end_unlike(const Group& group, NodeId unlike) {
    for (const WorkerPtr& worker : group.members)
        job_.end_head(worker, failed(base::make_error(
                                  ErrorKind::mismatch,
                                  "worker {} called {} and {} something else: {}", worker->rank,
                                  call_text(worker->head()), job_.caller_at(unlike), kCallAlike)));
}

// Begins no other group in the view over which these members met.
void StaticOrders::ask_for_view(const Group& group) {
    if (group.members.front()->turn_epoch != job_.view.epoch || !may_begin_) return;
    may_begin_ = false;
    job_.wants_view = true;
}

std::string StaticOrders::awaited(const Worker& worker) const {
    if (!may_begin_) return "the job's membership to have changed";
    const std::vector<control::Rank> missing = not_called_here(job_, schedule_.next(worker));
    return missing.empty() ? "another average of a member of its group to end"
                           : JobState::not_called(missing);
}

}  // namespace pace::daemon
