#include "daemon/families/groups/controller_orders.h"

#include <algorithm>
#include <utility>

#include "daemon/control/controller.h"
#include "daemon/members/alike.h"
#include "daemon/members/wait.h"
#include "daemon/runtime/exchange_number.h"

namespace pace::daemon {

using base::ErrorKind;
using control::ReadyStage;

namespace {

// A member that makes its buffers still. The other members of its group go on without it.
void fall_behind(Worker& worker) {
    worker.lagging = true;
    worker.busy_since = base::now();
}

}  // namespace

uint64_t ControllerOrders::number_of(control::GroupId group) const {
    return exchange_number(job_.token, ExchangeKind::group, group, 0);
}

void ControllerOrders::announce(Worker& worker, uint64_t iteration) {
    const bool computes = worker.state == Worker::State::idle && worker.queue.empty();
    if (!computes || worker.newcomer || !worker.average_digest) return;
    if (worker.announced && worker.announced->iteration == iteration) return;
    take_back(worker);
    worker.announced = Worker::Announced{iteration, *worker.average_digest, base::now()};
    announce_again(worker);
}

void ControllerOrders::announce_again(const Worker& worker) {
    if (!worker.announced) return;
    give_up_with(worker);
    signals_.announce(worker);
}

void ControllerOrders::take_back(Worker& worker) {
    if (!worker.announced) return;
    worker.announced.reset();
    signals_.take_back(worker);
    give_up_with(worker);
}

void ControllerOrders::left(Worker& worker) {
    worker.announced.reset();
    give_up_with(worker);
}

void ControllerOrders::called(Worker& worker) {
    const Request& head = worker.head();
    const bool as_announced = worker.announced && worker.announced->iteration == head.iteration &&
                              worker.announced->digest == head.digest;
    if (!as_announced) take_back(worker);
    worker.announced.reset();
    wait_for_group(worker);
    signals_.send(worker, as_announced ? ReadyStage::arrived : ReadyStage::called);
    while (const auto complete = early_.take_complete(worker)) order(*complete);
}

void ControllerOrders::caught_up(Worker& worker) {
    signals_.send(worker, ReadyStage::called);
}

// The group with those members here that have called as the order says.
Group ControllerOrders::gather(const control::GroupOrder& order) {
    Group group{order, {}, number_of(order.group)};
    for (const control::Part& part : order.members) {
        if (part.node != job_.services.self) continue;
        if (WorkerPtr worker = calls_.claim(part, order.digest))
            group.members.push_back(std::move(worker));
    }
    return group;
}

void ControllerOrders::order(const control::GroupOrder& order) {
    if (early_.is_early(order)) {
        early_.hold(order);
        return;
    }
    const Group group = gather(order);
    const auto named = std::count_if(
        order.members.begin(), order.members.end(),
        [this](const control::Part& part) { return part.node == job_.services.self; });
    if (group.members.empty() || group.members.size() != static_cast<size_t>(named))
        refuse(group, "a worker that it names waits for no such group here");
    else if (running_.contains(order.group))
        refuse(group, "it is under way already");
    else
        run(group);
}

void ControllerOrders::run(const Group& group) {
    if (const WorkerPtr unlike = first_unlike(group.members)) {
        tell_refused(group, "workers on one node have called different averages");
        end_calls(job_, group, unlike_calls(*group.members.front(), *unlike));
        return;
    }
    Exchange::Plan plan;
    if (plan_group(job_, group, plan))
        running_.run(*this, group, std::move(plan));
    else
        refuse(group, "the initial model that it weighs was not broadcast here");
}

void ControllerOrders::too_late(const control::GroupOrder& order) {
    refuse(gather(order), "a worker that it names has not called as announced");
}

// The worker does not call as it has announced: orders that count on that are refused.
void ControllerOrders::give_up_with(const Worker& worker) {
    while (const auto order = early_.take_naming(worker)) too_late(*order);
}

void ControllerOrders::abort(control::GroupId group, const base::Error& error) {
    if (const auto held = early_.take(group))
        too_late(*held);
    else if (!running_.abort(group, error))
        forget(group);
}

void ControllerOrders::drop_held() {
    for (const control::GroupOrder& order : early_.take_all()) forget(order.group);
}

// Tells the other nodes, which may wait for this node in the group, and the controller.
void ControllerOrders::tell_refused(const Group& group, const std::string& reason) {
    send_poison(job_.services, group.number, nodes_of(group.order));
    forget(group.id());
    control::GroupDone done;
    done.job = job_.id;
    done.group = group.id();
    done.failed = true;
    done.reason = reason;
    job_.services.control.send(done);
}

void ControllerOrders::refuse(const Group& group, const std::string& reason) {
    tell_refused(group, reason);
    for (const WorkerPtr& worker : group.members) {
        if (worker->port == nullptr) continue;
        if (group.order.initial_weight != 0 && !job_.has_initial(worker->head().buffers)) {
            job_.end_head(worker,
                          failed(base::make_error(ErrorKind::invalid,
                                                  "the job weighs the initial model (missing = "
                                                  "initial) but none was broadcast here: call "
                                                  "pace_broadcast on the same buffers first")));
            continue;
        }
        signals_.send(*worker, ReadyStage::called);
    }
}

void ControllerOrders::ended(const Group& group, const ExchangeOutcome& outcome) {
    control::GroupDone done;
    done.job = job_.id;
    done.group = group.id();
    done.failed = !outcome;
    if (!outcome) done.reason = outcome.error().message;
    done.moving_ns = base::now_ns() - group.members.front()->moving_since_ns;
    done.bytes = outcome.traffic.bytes_sent;
    job_.services.control.send(done);
}

bool ControllerOrders::has_cut(const std::vector<NodeId>& nodes) const {
    return std::any_of(nodes.begin(), nodes.end(),
                       [this](NodeId node) { return job_.services.peers.is_cut(node); });
}

// The members wait for another group.
void ControllerOrders::try_again(const Group& group, const ExchangeOutcome& outcome) {
    for (const WorkerPtr& worker : group.members) {
        worker->wait_again(Worker::State::ready);
        if (!worker->head().is_made()) fall_behind(*worker);
        if (worker->port == nullptr) continue;
        if (worker->newcomer) {
            ask_for_place(job_, worker);
        } else if (has_cut(outcome.plan->nodes)) {
            signals_.send_later(worker);
        } else {
            signals_.send(*worker, ReadyStage::called);
        }
    }
}

std::string ControllerOrders::awaited(const Worker& worker) const {
    if (!job_.services.control.attached()) return kNoController;
    if (const Worker* const announced = early_.awaited_with(worker))
        return fmt::format("worker {}, which has announced its call", announced->rank);
    const std::string group = fmt::format(
        "a group, which the controller orders when its members have called (pacectl job show {} "
        "names who has not)",
        job_.options.name);
    std::vector<control::Rank> ranks;
    for (const control::Member& member : job_.view.members) ranks.push_back(member.rank);
    const std::vector<control::Rank> missing = not_called_here(job_, ranks);
    return missing.empty()
               ? group
               : fmt::format("{}; perhaps for {}", group, JobState::not_called(missing));
}

}  // namespace pace::daemon
