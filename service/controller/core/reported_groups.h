// ReportedGroups: the groups of a job that nobody orders (policy prague-static), from what daemons
// say of them with their heartbeats.
//
// They have the history and statistics of ordered groups (groups.h). Each node of a group tells of
// its own members, with the group's number; the node of the first one makes it count. In the history
// a group is ordered when the last member of all had called. In the statistics a member waits for
// those at its own node, and what it waits for others is part of its exchange: so its daemon sees it.
#pragma once

#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

#include "service/controller/core/cluster.h"
#include "service/controller/core/group_history.h"
#include "service/controller/core/group_statistics.h"
#include "service/controller/core/worker.h"

namespace pace::controller {

class ReportedGroups {
  public:
    // `workers`, indexed by rank, outlives this.
    ReportedGroups(const JobOptions& options, std::vector<Worker>& workers, Cluster& cluster);

    // A report that cannot be true is ignored.
    void on_report(const GroupReport& report, NodeId node, uint64_t epoch, TimePoint now);

    const GroupHistory& history() const { return history_; }
    const GroupStatistics& statistics() const { return statistics_; }

  private:
    struct Told {
        GroupId group = 0;          // in the history
        std::vector<NodeId> nodes;  // that have told their part
    };

    bool can_be_true(const GroupReport& report, NodeId node) const;
    Told& told(const GroupReport& report, uint64_t epoch, TimePoint begun);
    void enter(GroupId group, const GroupReport& report, uint64_t epoch, TimePoint begun);
    void add_times(const GroupReport& report, NodeId node, TimePoint begun);

    std::vector<Worker>& workers_;
    Cluster& cluster_;
    GroupHistory history_;
    GroupStatistics statistics_;
    std::unordered_map<uint64_t, Told> told_;  // by the daemons' numbers
    std::deque<uint64_t> numbers_;             // of those, oldest first
    std::vector<Signal> calls_;                // scratch of on_report
};

}  // namespace pace::controller
