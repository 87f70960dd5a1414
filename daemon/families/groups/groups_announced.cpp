// Groups: workers that still compute, and have announced that they will average. The controller may
// order their group before they arrive; the order is held until then.
#include <algorithm>
#include <utility>

#include "daemon/control/controller.h"
#include "daemon/families/groups/groups.h"

namespace pace::daemon {

namespace {

// A member that arrives later after the order than half of its step's usual time is not waited for.
// These bounds limit that time.
constexpr base::Duration kHoldLeast = std::chrono::milliseconds(20);
constexpr int kHoldsPerProgressDeadline = 4;

bool names(const control::GroupOrder& order, const Worker& worker) {
    return std::any_of(order.members.begin(), order.members.end(),
                       [&](const control::Part& part) { return part.rank == worker.rank; });
}

}  // namespace

void Groups::announce(const WorkerPtr& worker, uint64_t iteration) {
    const bool computes = worker->state == Worker::State::idle && worker->queue.empty();
    if (are_static() || !computes || worker->newcomer || !worker->average_digest) return;
    if (worker->announced && worker->announced->iteration == iteration) return;
    take_back(*worker);
    worker->announced = Worker::Announced{iteration, *worker->average_digest, base::now()};
    announce_again(*worker);
}

void Groups::announce_again(Worker& worker) {
    if (!worker.announced) return;
    give_up_orders_of(worker);
    const Worker::Announced& announced = *worker.announced;
    job_.services.control->send(control::Ready{job_.id, worker.rank, announced.iteration,
                                               announced.digest, control::ReadyStage::announced});
}

void Groups::take_back(Worker& worker) {
    if (!worker.announced) return;
    worker.announced.reset();
    job_.services.control->send(
        control::Withdraw{.job = job_.id, .rank = worker.rank, .unanswered = true});
    give_up_orders_of(worker);
}

void Groups::left(Worker& worker) {
    worker.announced.reset();
    if (are_static()) forget_static_of(worker);
    abandon_unmade(worker);
    give_up_orders_of(worker);
}

// The worker whose arrival this part of the order waits for; null if there is none.
const Worker* Groups::awaited(const control::GroupOrder& order, const control::Part& part) const {
    const WorkerPtr worker = part.node == job_.services.self ? job_.find(part.rank) : WorkerPtr();
    if (!worker || !worker->announced) return nullptr;
    const Worker::Announced& announced = *worker->announced;
    const bool fits = announced.iteration == part.iteration && announced.digest == order.digest;
    return fits ? worker.get() : nullptr;
}

bool Groups::is_early(const control::GroupOrder& order) const {
    return std::any_of(order.members.begin(), order.members.end(),
                       [&](const control::Part& part) { return awaited(order, part) != nullptr; });
}

void Groups::hold(const control::GroupOrder& order) {
    const base::TimePoint now = base::now();
    base::Duration patience = job_.services.options.progress_deadline / kHoldsPerProgressDeadline;
    for (const control::Part& part : order.members) {
        if (const Worker* worker = awaited(order, part))
            patience =
                std::min(patience, std::max(kHoldLeast, (now - worker->announced->since) / 2));
    }
    auto timer =
        job_.services.loop.run_after(patience, [this, group = order.group] { give_up(group); });
    held_.insert_or_assign(order.group, Held{order, std::move(timer)});
}

std::optional<control::GroupOrder> Groups::take_held(control::GroupId group) {
    const auto held = held_.find(group);
    if (held == held_.end()) return std::nullopt;
    control::GroupOrder order = std::move(held->second.order);
    held_.erase(held);
    return order;
}

bool Groups::give_up(control::GroupId group) {
    const auto order = take_held(group);
    if (!order) return false;
    std::vector<WorkerPtr> arrived;
    for (const control::Part& part : order->members) {
        if (part.node != job_.services.self) continue;
        if (WorkerPtr worker = claim(part, order->digest)) arrived.push_back(std::move(worker));
    }
    refuse(*order, arrived, "a worker that it names has not called as announced");
    return true;
}

std::vector<control::GroupId> Groups::held_with(const Worker& worker) const {
    std::vector<control::GroupId> groups;
    for (const auto& [group, held] : held_)
        if (names(held.order, worker)) groups.push_back(group);
    return groups;
}

void Groups::give_up_orders_of(const Worker& worker) {
    for (const control::GroupId group : held_with(worker)) give_up(group);
}

void Groups::run_held(const Worker& arrived) {
    for (const control::GroupId group : held_with(arrived)) {
        if (is_early(held_.at(group).order)) continue;
        if (const auto taken = take_held(group)) order(*taken);
    }
}

}  // namespace pace::daemon
