// Groups: averages of buffers that are made while they travel (pace_average_options.order). A group forms at the call, and its
// exchange begins with what is made.
#include <algorithm>

#include "daemon/exchange/groups.h"

namespace pace::daemon {

using base::ErrorKind;

namespace {

uint64_t least_ready(const std::vector<WorkerPtr>& members) {
    uint64_t least = members.front()->head().ready;
    for (const WorkerPtr& member : members) least = std::min(least, member->head().ready);
    return least;
}

}  // namespace

// Null if all is made at the call: then nothing travels in pieces, at any node.
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
    const auto found = std::find_if(moving_.begin(), moving_.end(), [&](const Moving& moving) {
        return std::find(moving.members.begin(), moving.members.end(), worker) !=
               moving.members.end();
    });
    if (found == moving_.end()) return;
    // What this sets off may end the exchange.
    const std::shared_ptr<collectives::Progress> progress = found->progress;
    progress->advance(least_ready(found->members));
}

// The others of its group go on without it.
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

// Its trainer is gone: what it has not made will never be.
void Groups::abandon_unmade(const Worker& worker) {
    for (const Moving& moving : moving_) {
        const bool names = std::any_of(moving.members.begin(), moving.members.end(),
                                       [&](const auto& member) { return member.get() == &worker; });
        if (!names || worker.head().is_made()) continue;
        const std::shared_ptr<Exchange> exchange = running_.at(moving.group);
        exchange->abort(base::make_error(ErrorKind::aborted,
                                         "the trainer of worker {} is gone before all of its "
                                         "buffers was ready",
                                         worker.rank));
        return;
    }
}

}  // namespace pace::daemon
