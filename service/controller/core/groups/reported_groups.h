// ReportedGroups: the groups of a job that nobody orders (policy prague-static), from reports in
// the daemons' heartbeats.
//
// They have the same history and statistics as ordered groups (groups.h). Each node of a group
// reports its own members, with the group's number. The report of the first member's node makes the
// group count. In the history a group is ordered when the last of all its members had called. In
// the statistics a member waits for members at its own node only, and waiting for other nodes is
// part of its exchange. This is what its daemon sees.
#pragma once

#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

#include "service/controller/core/groups/group_history.h"
#include "service/controller/core/groups/group_statistics.h"
#include "service/controller/core/members/worker.h"
#include "service/controller/core/nodes/cluster.h"

namespace pace::controller {

class ReportedGroups {
  public:
    // `workers`, indexed by rank, must outlive this object.
    ReportedGroups(const JobOptions& options, std::vector<Worker>& workers, Cluster& cluster);

    // Ignores a report that cannot be true.
    void on_report(const GroupReport& report, NodeId node, uint64_t epoch, TimePoint now);

    const GroupHistory& history() const { return history_; }
    const GroupStatistics& statistics() const { return statistics_; }

  private:
    struct Told {
        GroupId group = 0;          // in the history
        std::vector<NodeId> nodes;  // that have reported their part
    };

    bool can_be_true(const GroupReport& report, NodeId node) const;
    Told& told(const GroupReport& report, uint64_t epoch, TimePoint begun);
    void enter(GroupId group, const GroupReport& report, uint64_t epoch, TimePoint begun);
    void add_times(const GroupReport& report, NodeId node, TimePoint begun);

    std::vector<Worker>& workers_;
    Cluster& cluster_;
    GroupHistory history_;
    GroupStatistics statistics_;
    std::unordered_map<uint64_t, Told> told_;  // by the daemons' group numbers
    std::deque<uint64_t> numbers_;             // keys of told_, oldest first
    std::vector<Signal> calls_;                // scratch of on_report
};

}  // namespace pace::controller
