// Types: the controller's vocabulary: nodes, jobs, workers, input events and output actions.
//
// Words as in docs/architecture.md. A *view* is the membership of a job at one epoch: the workers
// over which the verbs for all members (reduce, broadcast, sync, barrier) run. A *round* is the
// n-th such exchange of a job. A *group* is the workers of one partial reduce.
#pragma once

#include "base/clock.h"
#include "service/controller/vocabulary/actions.h"
#include "service/controller/vocabulary/events.h"

namespace pace::controller {

using base::Duration;
using base::TimePoint;

}  // namespace pace::controller
