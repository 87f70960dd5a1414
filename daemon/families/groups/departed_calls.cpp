#include "daemon/families/groups/departed_calls.h"

#include <algorithm>
#include <utility>

namespace pace::daemon {

namespace {

// How long the buffers of a dead trainer are kept for an order that was already under way.
constexpr base::Duration kDepartedKeep = std::chrono::seconds(2);

}  // namespace

void DepartedCalls::keep(const WorkerPtr& worker) {
    auto expiry = job_.services.loop.run_after(kDepartedKeep, [this, gone = worker.get()] {
        std::erase_if(departed_, [&](const Departed& other) { return other.worker.get() == gone; });
    });
    departed_.push_back({worker, std::move(expiry)});
}

WorkerPtr DepartedCalls::claim(const control::Part& part, uint32_t digest) {
    const auto fits = [&](const WorkerPtr& worker) {
        return worker && worker->rank == part.rank && worker->state == Worker::State::ready &&
               worker->head().iteration == part.iteration && worker->head().digest == digest;
    };
    WorkerPtr worker = job_.find(part.rank);
    if (fits(worker)) return worker;
    const auto gone =
        std::find_if(departed_.begin(), departed_.end(),
                     [&fits](const Departed& departed) { return fits(departed.worker); });
    if (gone == departed_.end()) return nullptr;
    worker = std::move(gone->worker);
    departed_.erase(gone);
    return worker;
}

}  // namespace pace::daemon
