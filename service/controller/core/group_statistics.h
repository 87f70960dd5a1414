// GroupStatistics: how many groups a job has had, and what they cost its workers.
//
// A worker *waits* from its signal to the order that names it; a signal that was taken back counts
// for nothing. It *exchanges* from the order until its node reports its part done or is told to
// abort it, or signals for it again: failed exchanges take time too.
#pragma once

#include <cstdint>

#include "service/controller/core/recent_times.h"

namespace pace::controller {

struct GroupStatistics {
    uint64_t ordered = 0;  // completed, failed, or in flight
    uint64_t completed = 0;
    uint64_t failed = 0;
    // Of all members of all groups. Kept of so many: enough for a steady median, few enough to sort
    // whenever somebody looks. A guess.
    RecentTimes<255> waiting;
    RecentTimes<255> exchanging;
};

}  // namespace pace::controller
