#include "daemon/families/groups/early_orders.h"

#include <algorithm>
#include <utility>

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

// The worker whose arrival this part of the order waits for; null if there is none.
const Worker* EarlyOrders::awaited(const control::GroupOrder& order,
                                   const control::Part& part) const {
    const WorkerPtr worker = part.node == job_.services.self ? job_.find(part.rank) : WorkerPtr();
    if (!worker || !worker->announced) return nullptr;
    const Worker::Announced& announced = *worker->announced;
    const bool fits = announced.iteration == part.iteration && announced.digest == order.digest;
    return fits ? worker.get() : nullptr;
}

const Worker* EarlyOrders::first_awaited(const control::GroupOrder& order) const {
    for (const control::Part& part : order.members)
        if (const Worker* const worker = awaited(order, part)) return worker;
    return nullptr;
}

bool EarlyOrders::is_early(const control::GroupOrder& order) const {
    return first_awaited(order) != nullptr;
}

base::Duration EarlyOrders::patience(const control::GroupOrder& order) const {
    const base::TimePoint now = base::now();
    base::Duration patience = job_.services.options.progress_deadline / kHoldsPerProgressDeadline;
    for (const control::Part& part : order.members) {
        if (const Worker* const worker = awaited(order, part))
            patience =
                std::min(patience, std::max(kHoldLeast, (now - worker->announced->since) / 2));
    }
    return patience;
}

void EarlyOrders::hold(const control::GroupOrder& order) {
    auto timer = job_.services.loop.run_after(patience(order), [this, group = order.group] {
        if (const auto late = take(group)) owner_.too_late(*late);
    });
    held_.insert_or_assign(order.group, Held{order, std::move(timer)});
}

std::optional<control::GroupOrder> EarlyOrders::take(control::GroupId group) {
    const auto held = held_.find(group);
    if (held == held_.end()) return std::nullopt;
    control::GroupOrder order = std::move(held->second.order);
    held_.erase(held);
    return order;
}

std::optional<control::GroupOrder> EarlyOrders::take_naming(const Worker& worker) {
    for (const auto& [group, held] : held_)
        if (names(held.order, worker)) return take(group);
    return std::nullopt;
}

std::optional<control::GroupOrder> EarlyOrders::take_complete(const Worker& arrived) {
    for (const auto& [group, held] : held_)
        if (names(held.order, arrived) && !is_early(held.order)) return take(group);
    return std::nullopt;
}

std::vector<control::GroupOrder> EarlyOrders::take_all() {
    std::vector<control::GroupOrder> orders;
    for (auto& [group, held] : held_) orders.push_back(std::move(held.order));
    held_.clear();
    return orders;
}

const Worker* EarlyOrders::awaited_with(const Worker& worker) const {
    for (const auto& [group, held] : held_) {
        const Worker* const awaited =
            names(held.order, worker) ? first_awaited(held.order) : nullptr;
        if (awaited != nullptr) return awaited;
    }
    return nullptr;
}

}  // namespace pace::daemon
