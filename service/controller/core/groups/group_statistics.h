// GroupStatistics: how many groups a job has had, and the time that they cost its workers.
//
// A worker *waits* from its signal to the order that names it; a withdrawn signal does not count.
// It *exchanges* from the order until its node reports its part done, is told to abort the part, or
// signals for the worker again. So failed exchanges count too.
#pragma once

#include <cstdint>

#include "service/controller/core/members/recent_times.h"

namespace pace::controller {

struct GroupStatistics {
    uint64_t ordered = 0;  // completed, failed, or in flight
    uint64_t completed = 0;
    uint64_t failed = 0;
    // Over all members of all groups. So many are kept that the median is steady, and so few that
    // they can be sorted for every status. A guess.
    RecentTimes<255> waiting;
    RecentTimes<255> exchanging;
};

}  // namespace pace::controller
