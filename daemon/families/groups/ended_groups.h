// EndedGroups: the static groups of a job that have ended on this node since the last report. The
// controller, which does not order static groups, is told with the next heartbeat. Only the latest
// groups are kept, and the number of older ones that counted here.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "daemon/control/messages.h"

namespace pace::daemon {

class EndedGroups {
  public:
    // About three heartbeats of a fast job, and small beside what a heartbeat may hold. Guesses.
    static constexpr size_t kGroupsMax = 64;
    static constexpr size_t kMembersMax = 4096;  // of all together; more if one group has

    // `counts`: the group's first member is on this node. The fields that depend on the job, and on
    // the time of the report, are filled in by take().
    void add(control::GroupReport report, bool counts, uint64_t ended_ns);

    // Moves all groups to `ret_reports`, oldest first.
    void take(control::JobId job, uint64_t now_ns, std::vector<control::GroupReport>& ret_reports);

  private:
    struct Ended {
        control::GroupReport report;
        bool counts = false;
        uint64_t at_ns = 0;
    };

    std::deque<Ended> ended_;
    size_t members_ = 0;
    uint64_t left_out_ = 0;
};

}  // namespace pace::daemon
