#include "daemon/families/groups/static_schedule.h"

#include "daemon/runtime/exchange_number.h"
#include "daemon/runtime/mix.h"

namespace pace::daemon {

StaticSchedule::StaticSchedule(const View& view, uint64_t token)
    : groups_(view.roster().nodes), epoch_(view.epoch), token_(token) {}

control::GroupId StaticSchedule::id_of(const std::vector<control::Rank>& ranks,
                                       uint64_t turn) const {
    return mix(mix(epoch_, turn), ranks.front());
}

uint64_t StaticSchedule::number_of(control::GroupId group) const {
    return exchange_number(token_, ExchangeKind::group, group, 0);
}

control::GroupOrder StaticSchedule::order(control::JobId job, const Worker& worker,
                                          const View& view) const {
    const std::vector<control::Rank> ranks = next(worker);
    control::GroupOrder order;
    order.job = job;
    order.group = id_of(ranks, worker.turn);
    order.digest = worker.head().digest;
    for (const control::Rank rank : ranks)
        order.members.push_back({rank, view.node_of(rank), worker.head().iteration,
                                 1.0 / static_cast<double>(ranks.size()), view.zone_of(rank),
                                 view.nccl_of(rank)});
    return order;
}

// A node that does not meet the workers here in between may be ahead by as many turns as there are
// phases.
std::vector<control::GroupId> StaticSchedule::may_be_begun(const Worker& worker) const {
    std::vector<control::GroupId> groups;
    if (!has_view()) return groups;
    for (uint64_t turn = worker.turn; turn < worker.turn + protocol::StaticGroups::kPhases;
         ++turn) {
        const std::vector<control::Rank> ranks = groups_.group_of(worker.rank, turn);
        if (ranks.size() > 1) groups.push_back(id_of(ranks, turn));
    }
    return groups;
}

}  // namespace pace::daemon
