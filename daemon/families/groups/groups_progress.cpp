// Groups: averages of buffers that are made while they travel (pace_average_options.order). A group
// forms at the call, and its exchange begins with the elements that are made.
#include <algorithm>

#include "daemon/families/groups/groups.h"

namespace pace::daemon {

using base::ErrorKind;

namespace {

uint64_t least_ready(const std::vector<WorkerPtr>& members) {
    uint64_t least = members.front()->head().ready;
    for (const WorkerPtr& member : members) least = std::min(least, member->head().ready);
    return least;
}

}  // namespace

// Null if the calls had no order: then nothing travels in pieces, at any node.
std::shared_ptr<collectives::Progress> Groups::progress_of(
    const std::vector<WorkerPtr>& members, const collectives::Layout& layout) const {
    const protocol::Order order = members.front()->head().order;
    if (order == protocol::Order::all_at_once) return nullptr;
    return std::make_shared<collectives::Progress>(order, layout, least_ready(members));
}

void Groups::progressed(const WorkerPtr& worker) {
    if (worker->lagging) {
        if (worker->head().is_made()) catch_up(worker);
        return;
    }
    const Moving* moving = moving_of(*worker);
    if (moving == nullptr) return;
    // Advancing may end the exchange.
    const std::shared_ptr<collectives::Progress> progress = moving->progress;
    progress->advance(least_ready(moving->members));
}

// Null if the worker is in no such exchange.
const Groups::Moving* Groups::moving_of(const Worker& worker) const {
    const auto names = [&](const Moving& moving) {
        return std::any_of(moving.members.begin(), moving.members.end(),
                           [&](const WorkerPtr& member) { return member.get() == &worker; });
    };
    const auto found = std::find_if(moving_.begin(), moving_.end(), names);
    return found == moving_.end() ? nullptr : &*found;
}

// The other members of the worker's group go on without it.
void Groups::fall_behind(Worker& worker) {
    worker.lagging = true;
    worker.busy_since = base::now();
}

void Groups::catch_up(const WorkerPtr& worker) {
    worker->lagging = false;
    if (worker->state != Worker::State::ready) return;
    if (are_static()) {
        begin_static(*worker);
    } else {
        signal(*worker, control::ReadyStage::called);
    }
}

// The worker's trainer is gone: buffers that are not made never will be.
void Groups::abandon_unmade(const Worker& worker) {
    const Moving* moving = moving_of(worker);
    if (moving == nullptr || worker.head().is_made()) return;
    const std::shared_ptr<Exchange> exchange = running_.at(moving->group);
    exchange->abort(base::make_error(
        ErrorKind::aborted, "the trainer of worker {} is gone before all of its buffers was ready",
        worker.rank));
}

}  // namespace pace::daemon
