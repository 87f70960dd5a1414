// RunningGroups: the exchanges under way of a job's groups, and how their members' calls end.
//
// Averaging commits member by member: if an exchange fails, the members on this node are ready
// again, with their inputs as they were, whatever happened to the other members.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "daemon/families/groups/group_source.h"

namespace pace::daemon {

class RunningGroups {
  public:
    explicit RunningGroups(JobState& job) : job_(job) {}

    // Runs the group's exchange. `source` outlives the job's scope, and hears of the end, possibly
    // before this returns. Throws std::bad_alloc, and the members are ready again then.
    void run(GroupSource& source, const Group& group, Exchange::Plan plan);
    // This node does not begin the group's exchange: what others send for it is dropped.
    void forget(control::GroupId group, uint64_t number);

    // Returns false if the group is not under way.
    bool abort(control::GroupId group, const base::Error& error);
    void abort_all(const base::Error& error);

    // More of the worker's call is made.
    void progressed(const Worker& worker);
    // The worker's trainer is gone: buffers that are not made never will be.
    void left(const Worker& worker);

    bool empty() const { return running_.empty(); }
    bool contains(control::GroupId group) const { return running_.contains(group); }
    std::vector<std::shared_ptr<Exchange>> exchanges() const;

    // Whether the members' calls fail with the exchange: their contents may be lost, or there would
    // be no more memory for the next group either.
    static bool ends_calls(const ExchangeOutcome& outcome);

  private:
    struct Running {
        std::shared_ptr<Exchange> exchange;
        std::vector<WorkerPtr> members;
    };

    void ended(GroupSource& source, const Group& group, ExchangeOutcome& outcome);
    void end_calls_well(const Group& group, const ExchangeOutcome& outcome);
    void log_failure(const Group& group, const ExchangeOutcome& outcome) const;
    Scratch spare_memory();
    const Running* making(const Worker& worker) const;

    JobState& job_;
    std::unordered_map<control::GroupId, Running> running_;
    std::vector<Scratch> spare_;
};

}  // namespace pace::daemon
