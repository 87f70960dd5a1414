#include "daemon/families/vetting/vetting.h"

#include <algorithm>
#include <utility>

namespace pace::daemon {

void Vetting::submit(const WorkerPtr& worker, Request request) {
    const bool looks = looks_ && request.verb == protocol::Verb::reduce;
    if (!looks && !waiting_.contains(worker.get())) {
        passed_(worker, std::move(request));
        return;
    }
    const uint64_t serial = request.serial;
    const std::vector<BufferPtr> buffers = request.buffers;
    waiting_[worker.get()].push_back({std::move(request), !looks, std::nullopt});
    if (!looks) return;
    find_nonfinite(services_.aside(), buffers, half_,
                   scope_.bind([this, worker, serial](std::optional<Place> place) {
                       seen(worker, serial, place);
                   }));
}

void Vetting::seen(const WorkerPtr& worker, uint64_t serial, std::optional<Place> place) {
    const auto waiting = waiting_.find(worker.get());
    if (waiting == waiting_.end()) return;  // gone meanwhile
    for (Vetted& vetted : waiting->second) {
        if (vetted.request.serial != serial) continue;
        vetted.is_seen = true;
        vetted.place = place;
    }
    hand_on(worker);
}

// A request that is passed on may bring the next one here, or end the worker. So the queue is
// looked up anew for each request.
void Vetting::hand_on(const WorkerPtr& worker) {
    for (;;) {
        const auto waiting = waiting_.find(worker.get());
        if (waiting == waiting_.end() || !waiting->second.front().is_seen) return;
        Vetted next = std::move(waiting->second.front());
        waiting->second.pop_front();
        if (waiting->second.empty()) waiting_.erase(waiting);
        if (next.place)
            refused_(worker, next.request, *next.place);
        else
            passed_(worker, std::move(next.request));
    }
}

bool Vetting::cancel(const Worker& worker, uint64_t id) {
    const auto waiting = waiting_.find(&worker);
    if (waiting == waiting_.end()) return false;
    const size_t taken = std::erase_if(
        waiting->second, [id](const Vetted& vetted) { return vetted.request.id == id; });
    if (waiting->second.empty()) waiting_.erase(waiting);
    return taken > 0;
}

void Vetting::forget(const Worker& worker) {
    waiting_.erase(&worker);
}

}  // namespace pace::daemon
