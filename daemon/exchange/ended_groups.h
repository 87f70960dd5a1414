// EndedGroups: the static groups of a job that have ended here since they were last told of. The controller, which orders none
// of them, is told with the next heartbeat. Of many only the latest are kept, and how many of the others counted here.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "daemon/control/messages.h"

namespace pace::daemon {

class EndedGroups {
  public:
    // Some three heartbeats of a fast job's, and small beside what a heartbeat may hold. Guesses.
    static constexpr size_t kGroupsMax = 64;
    static constexpr size_t kMembersMax = 4096;  // of all together, unless one has more

    // `counts`: its first member is on this node. What depends on the job and on when it is told is filled in then.
    void add(control::GroupReport report, bool counts, uint64_t ended_ns);

    // All of them, oldest first; they are forgotten here.
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
