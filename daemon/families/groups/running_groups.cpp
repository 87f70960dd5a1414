#include "daemon/families/groups/running_groups.h"

#include <algorithm>
#include <new>
#include <utility>

#include "base/attempt.h"
#include "base/log/training_events.h"
#include "daemon/members/alike.h"

namespace pace::daemon {

using base::ErrorKind;
using base::Result;

namespace {

// The order, with the iterations that its members' nodes have told each other during the exchange,
// if they have.
control::GroupOrder with_iterations(control::GroupOrder order, const Exchange::Plan& plan) {
    if (plan.numbers.empty()) return order;
    std::vector<size_t> next(plan.nodes.size(), 0);
    order.iteration = 0;
    for (control::Part& part : order.members) {
        const auto node = static_cast<size_t>(
            std::find(plan.nodes.begin(), plan.nodes.end(), part.node) - plan.nodes.begin());
        part.iteration = plan.numbers[node][next[node]++];
        order.iteration = std::max(order.iteration, part.iteration);
    }
    return order;
}

std::shared_ptr<MemberList> members_of(const control::GroupOrder& order) {
    auto members = std::make_shared<MemberList>();
    uint64_t newest = 0;
    for (const control::Part& part : order.members) newest = std::max(newest, part.iteration);
    for (const control::Part& part : order.members)
        members->push_back({part.rank, 0, newest - part.iteration, part.weight});
    return members;
}

// How the worker's request ended; who the members were is not in it yet.
Ending ending_of(const control::GroupOrder& order, const Worker& worker,
                 const ExchangeOutcome& outcome, uint64_t now_ns) {
    Ending ending;
    ending.iteration = worker.iteration;
    ending.group = order.group;
    ending.bytes_sent = outcome.traffic.bytes_sent;
    ending.bytes_received = outcome.traffic.bytes_received;
    ending.queued_ns = worker.queued_ns();
    ending.moving_ns = now_ns - worker.moving_since_ns;
    ending.initial_weight = order.initial_weight;
    ending.nodes = static_cast<uint32_t>(outcome.plan->nodes.size());
    return ending;
}

}  // namespace

void RunningGroups::run(GroupSource& source, const Group& group, Exchange::Plan plan) {
    const uint64_t now = base::now_ns();
    for (const WorkerPtr& worker : group.members) worker->begin_moving(now);
    // A worker alone keeps its own model: there is nothing to compute.
    const bool alone = group.order.members.size() == 1 && group.order.initial_weight == 0 &&
                       group.members.front()->head().results.empty();
    if (alone) plan.recipients.clear();
    if (alone) plan.marks.clear();
    const bool begun = base::attempt([&] {
        job_.port->group_begins(plan.nodes);
        auto exchange =
            Exchange::start(job_.services, std::move(plan), spare_memory(),
                            job_.scope.bind([this, &source, group](ExchangeOutcome& outcome) {
                                ended(source, group, outcome);
                            }));
        if (exchange->ended()) return;
        for (const WorkerPtr& worker : group.members) worker->exchange = exchange;
        running_.emplace(group.id(), Running{std::move(exchange), group.members});
    });
    if (begun) return;
    // No exchange moves the members: whoever catches the exception ends their requests.
    for (const WorkerPtr& worker : group.members)
        if (worker->state == Worker::State::moving) worker->wait_again(Worker::State::ready);
    forget(group.id(), group.number);
    throw std::bad_alloc();
}

void RunningGroups::forget(control::GroupId group, uint64_t number) {
    if (!contains(group)) job_.services.transport.close_exchange(number);
}

// Memory of a group that has ended; or of a round, which reserves memory again when it needs some.
Scratch RunningGroups::spare_memory() {
    if (spare_.empty()) return job_.port->round_memory();
    Scratch memory = std::move(spare_.back());
    spare_.pop_back();
    return memory;
}

bool RunningGroups::ends_calls(const ExchangeOutcome& outcome) {
    return outcome.contents_lost || outcome.error().kind == ErrorKind::memory;
}

void RunningGroups::ended(GroupSource& source, const Group& group, ExchangeOutcome& outcome) {
    running_.erase(group.id());
    if (outcome.has_other_nodes()) spare_.push_back(std::move(outcome.scratch));
    source.ended(group, outcome);
    if (outcome) {
        end_calls_well(group, outcome);
        return;
    }
    log_failure(group, outcome);
    if (ends_calls(outcome)) {
        for (const WorkerPtr& worker : group.members)
            job_.end_head(worker, failed(outcome.error()));
    } else {
        source.try_again(group, outcome);
    }
}

void RunningGroups::end_calls_well(const Group& group, const ExchangeOutcome& outcome) {
    ++job_.services.counters.groups;
    const uint64_t now = base::now_ns();
    const control::GroupOrder known = with_iterations(group.order, *outcome.plan);
    const auto list = members_of(known);
    for (const WorkerPtr& worker : group.members) {
        worker->iteration = known.iteration;
        worker->times.met(outcome.met);
        note_model(*worker);
        Ending ending = ending_of(known, *worker, outcome, now);
        ending.members = list;
        job_.end_head(worker, std::move(ending));
    }
}

// Logs once per group and node. An abort on the controller's word is in the controller's log.
void RunningGroups::log_failure(const Group& group, const ExchangeOutcome& outcome) const {
    if (outcome.error().kind == ErrorKind::aborted) return;
    base::log_event(base::events::kGroupFailed,
                    {{"job", job_.options.name},
                     {"group", group.id()},
                     {"nodes", job_.services.peers.names(outcome.plan->nodes)},
                     {"reason", outcome.error().message}});
}

bool RunningGroups::abort(control::GroupId group, const base::Error& error) {
    const auto running = running_.find(group);
    if (running == running_.end()) return false;
    const std::shared_ptr<Exchange> exchange = running->second.exchange;
    exchange->abort(error);
    return true;
}

void RunningGroups::abort_all(const base::Error& error) {
    for (const auto& exchange : exchanges()) exchange->abort(error);
}

std::vector<std::shared_ptr<Exchange>> RunningGroups::exchanges() const {
    std::vector<std::shared_ptr<Exchange>> exchanges;
    for (const auto& [group, running] : running_) exchanges.push_back(running.exchange);
    return exchanges;
}

// The worker's exchange, if its members make their buffers while these travel; otherwise null.
const RunningGroups::Running* RunningGroups::making(const Worker& worker) const {
    for (const auto& [group, running] : running_) {
        const bool is_member =
            std::any_of(running.members.begin(), running.members.end(),
                        [&](const WorkerPtr& member) { return member.get() == &worker; });
        if (is_member && running.exchange->plan().progress) return &running;
    }
    return nullptr;
}

void RunningGroups::progressed(const Worker& worker) {
    const Running* const running = making(worker);
    if (running == nullptr) return;
    // Advancing may end the exchange.
    const std::shared_ptr<collectives::Progress> progress = running->exchange->plan().progress;
    progress->advance(least_ready(running->members));
}

void RunningGroups::left(const Worker& worker) {
    const Running* const running = making(worker);
    if (running == nullptr || worker.head().is_made()) return;
    const std::shared_ptr<Exchange> exchange = running->exchange;
    exchange->abort(base::make_error(
        ErrorKind::aborted, "the trainer of worker {} is gone before all of its buffers was ready",
        worker.rank));
}

}  // namespace pace::daemon
