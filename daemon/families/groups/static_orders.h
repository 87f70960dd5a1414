// StaticOrders: static groups of a job. This node begins a group when all members here have called
// for it. The controller is told afterwards, with the heartbeat.
#pragma once

#include <string>
#include <vector>

#include "daemon/families/groups/ended_groups.h"
#include "daemon/families/groups/running_groups.h"
#include "daemon/families/groups/static_schedule.h"

namespace pace::daemon {

class StaticOrders final : public GroupSource {
  public:
    StaticOrders(JobState& job, RunningGroups& running) : job_(job), running_(running) {}

    // The job has a new view, and the groups are those of the new view. What has been called so far
    // begins.
    void begin_view();
    // Begins nothing before the next view.
    void pause() { may_begin_ = false; }
    // The view is void. What other nodes have sent for groups that begin here no more is dropped.
    void leave_view();

    // The worker's trainer is gone, and the worker begins no other group of this view.
    void left(const Worker& worker);

    // Reports the groups that have ended since the last report.
    void report(std::vector<control::GroupReport>& ret_reports);

    void called(Worker& worker) override;
    void caught_up(Worker& worker) override { begin_with(worker); }
    std::string awaited(const Worker& worker) const override;
    void ended(const Group& group, const ExchangeOutcome& outcome) override;
    void try_again(const Group& group, const ExchangeOutcome& outcome) override;

  private:
    void begin_with(const Worker& worker);
    std::vector<WorkerPtr> complete_with(const Worker& worker) const;
    void run(const std::vector<WorkerPtr>& members);
    void ask_for_view(const Group& group);
    void end_unlike(const Group& group, NodeId unlike);
    void note_ended(const Group& group, const ExchangeOutcome& outcome);

    JobState& job_;
    RunningGroups& running_;
    StaticSchedule schedule_;
    bool may_begin_ = false;
    EndedGroups ended_;
};

}  // namespace pace::daemon
