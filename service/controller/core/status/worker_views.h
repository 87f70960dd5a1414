// Worker views: what status shows of a job's workers: their state, how they spend their time, and
// which are slow.
#pragma once

#include "service/controller/core/jobs/job.h"
#include "service/controller/core/status/status.h"

namespace pace::controller {

template <typename Times>
TimeSpent spent(const Times& times) {
    return {times.total_s(), times.median()};
}

WorkerView view_of(const Job& job, Rank rank);
// For all workers in the view, whose waits for groups must already be set.
void add_doing(const Job& job, TimePoint now, JobView& view);
void add_slowness(const Job& job, TimePoint now, JobView& view);

}  // namespace pace::controller
