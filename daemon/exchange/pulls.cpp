#include "daemon/exchange/pulls.h"

#include <algorithm>
#include <utility>

#include "daemon/control/controller_link.h"
#include "daemon/exchange/model_range.h"

namespace pace::daemon {

void Pulls::ask(const WorkerPtr& worker, uint64_t clock, uint64_t own) {
    const Request& request = worker->head();
    Asked& asked = asked_[worker->rank];
    asked = {worker, clock, own, request.first, request.elements, {}};
    tell(worker->rank, asked);
}

void Pulls::tell(control::Rank rank, const Asked& asked) const {
    job_.services.control->send(control::ServerAsked{job_.id, host_.generation(), rank, asked.clock,
                                                     asked.own, asked.first, asked.count});
}

void Pulls::ask_again() {
    for (auto& [rank, asked] : asked_) {
        asked.came.clear();
        tell(rank, asked);
    }
}

// What came at one position is of one moment; pulls of one worker and clock may have several, where it had to ask again.
void Pulls::add(ShardHost::Part&& part) {
    const auto found = asked_.find(part.rank);
    if (found == asked_.end() || found->second.clock != part.clock) return;
    Asked& asked = found->second;
    Came& came = asked.came[part.position];
    const size_t elements = part.elements.size();
    if (!came.parts.try_emplace(part.shard, std::move(part.elements)).second) return;
    came.elements += elements;
    if (came.elements < asked.count) return;
    const server::Partition partition = host_.partition();
    for (const auto& [shard, values] : came.parts) {
        const uint64_t begin = std::max<uint64_t>(partition.range(shard).begin, asked.first);
        write_range(asked.worker->head().buffers, begin - asked.first, values);
    }
    const WorkerPtr worker = asked.worker;
    asked_.erase(found);
    done_(worker, part.position, part.slowest);
}

}  // namespace pace::daemon
