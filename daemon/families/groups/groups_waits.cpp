// Groups: for whom a member waits, in words for people.
#include <algorithm>

#include "daemon/control/controller.h"
#include "daemon/families/groups/groups.h"
#include "daemon/members/wait.h"

namespace pace::daemon {

// Null if the worker is in no exchange.
const Exchange* Groups::exchange_of(const Worker& worker) const {
    const BufferPtr& buffer = worker.head().buffers.front();
    for (const auto& [group, exchange] : running_) {
        const auto& keep = exchange->plan().keep;
        if (std::find(keep.begin(), keep.end(), buffer) != keep.end()) return exchange.get();
    }
    return nullptr;
}

std::string Groups::awaited(const Worker& worker) const {
    if (worker.lagging) return "its own buffers to be made ready (pace_request_ready)";
    if (worker.state == Worker::State::ready) return awaited_group(worker);
    const Exchange* const exchange = exchange_of(worker);
    if (exchange == nullptr) return "its group's exchange to end";
    const std::vector<NodeId> nodes = exchange->waiting_for();
    if (nodes.empty()) return exchange->plan().what + " to end";
    return fmt::format("{}, in {}", job_.workers_at(nodes), exchange->plan().what);
}

std::string Groups::awaited_group(const Worker& worker) const {
    std::vector<control::Rank> missing;
    const auto look_at = [&](control::Rank rank) {
        if (job_.view.node_of(rank) != job_.services.self) return;
        const WorkerPtr member = job_.find(rank);
        const bool has_called = member && (member->state == Worker::State::ready ||
                                           member->state == Worker::State::moving);
        if (!has_called) missing.push_back(rank);
    };
    if (are_static()) {
        if (!may_begin_static_) return "the job's membership to have changed";
        const auto ranks = static_groups_.group_of(worker.rank, worker.turn);
        std::for_each(ranks.begin(), ranks.end(), look_at);
        return missing.empty() ? "another average of a member of its group to end"
                               : JobState::not_called(missing);
    }
    if (!job_.services.control->attached()) return kNoController;
    for (const control::GroupId group : held_with(worker))
        for (const control::Part& part : held_.at(group).order.members)
            if (awaited(held_.at(group).order, part) != nullptr)
                return fmt::format("worker {}, which has announced its call", part.rank);
    for (const control::Member& member : job_.view.members) look_at(member.rank);
    const std::string group = fmt::format(
        "a group, which the controller orders when its members have called (pacectl job show {} "
        "names who has not)",
        job_.options.name);
    return missing.empty()
               ? group
               : fmt::format("{}; perhaps for {}", group, JobState::not_called(missing));
}

}  // namespace pace::daemon
