#include "daemon/exchange/pulls.h"

#include <algorithm>
#include <utility>

#include "daemon/control/controller_link.h"
#include "daemon/exchange/model_range.h"

namespace pace::daemon {

namespace {

// The elements of the shard that the pull wants, counted in the model; empty if it wants none of them.
server::Range wanted(const Pull& pull, server::Range shard) {
    const uint64_t begin = std::max<uint64_t>(shard.begin, pull.first);
    const uint64_t end = std::min<uint64_t>(shard.end, pull.first + pull.count);
    return {begin, std::max(begin, end)};
}

}  // namespace

void Pulls::ask(const WorkerPtr& worker, uint64_t clock, uint64_t own) {
    Request& request = worker->queue.front();
    request.pull = std::make_shared<Pull>(
        Pull{clock, own, request.first, request.elements, request.buffers, {}});
    asked_[worker->rank] = {worker, request.pull};
    tell(worker->rank, *request.pull);
}

Pulls::Found Pulls::find(control::Rank rank) const {
    const auto asked = asked_.find(rank);
    if (asked == asked_.end()) return {};
    return {asked->second.worker.lock(), asked->second.pull.lock()};
}

void Pulls::tell(control::Rank rank, const Pull& pull) const {
    job_.services.control->send(control::ServerAsked{job_.id, host_.generation(), rank, pull.clock,
                                                     pull.own, pull.first, pull.count});
}

void Pulls::ask_again() {
    std::erase_if(asked_, [](const auto& asked) { return asked.second.pull.expired(); });
    for (const auto& [rank, asked] : asked_) {
        const auto pull = asked.pull.lock();
        pull->came.clear();
        tell(rank, *pull);
    }
}

void Pulls::add(ShardHost::Part&& part) {
    const auto [worker, pull] = find(part.rank);
    if (!pull || pull->clock != part.clock) return;
    const server::Partition partition = host_.partition();
    const server::Range range = wanted(*pull, partition.range(part.shard));
    // An answer to an earlier pull of this clock, of other elements.
    if (range.size() == 0 || part.elements.size() != range.size()) return;
    Pull::Came& came = pull->came[part.position];
    if (!came.parts.try_emplace(part.shard, std::move(part.elements)).second) return;
    came.elements += range.size();
    if (came.elements < pull->count) return;
    tell_writing(worker->head().mark);
    for (const auto& [shard, values] : came.parts)
        write_range(pull->buffers, wanted(*pull, partition.range(shard)).begin - pull->first,
                    values);
    tell_whole(worker->head().mark);
    asked_.erase(part.rank);
    done_(worker, part.position, part.slowest);
}

}  // namespace pace::daemon
