// StaticSchedule: whom a worker meets next in a job of static groups. It follows from a view,
// without the controller. The number of a worker's averages in this view determines whom it meets
// next. All views begin at the same phase, so that members agree whatever happened before.
#pragma once

#include <vector>

#include "daemon/families/groups/group.h"
#include "protocol/static_groups.h"

namespace pace::daemon {

class StaticSchedule {
  public:
    StaticSchedule() = default;  // of no view
    // `token`: the job's when the view began. A controller that has lost its journal chooses
    // another token.
    StaticSchedule(const View& view, uint64_t token);

    bool has_view() const { return epoch_ != 0; }
    // Who meets in the worker's next turn, the worker included, in node order.
    std::vector<control::Rank> next(const Worker& worker) const {
        return groups_.group_of(worker.rank, worker.turn);
    }
    // The order of the worker's next group. The members' iterations are not known yet, but all have
    // called as often as this worker: the order gives them the worker's.
    control::GroupOrder order(control::JobId job, const Worker& worker, const View& view) const;
    // The groups that other nodes may have begun, in which they wait for this worker.
    std::vector<control::GroupId> may_be_begun(const Worker& worker) const;
    // Under which the group's nodes exchange.
    uint64_t number_of(control::GroupId group) const;

  private:
    control::GroupId id_of(const std::vector<control::Rank>& ranks, uint64_t turn) const;

    protocol::StaticGroups groups_;
    uint64_t epoch_ = 0;  // of the view; 0: none
    uint64_t token_ = 0;
};

}  // namespace pace::daemon
