// Job: which run of it this is, and whether that is over.
#include <algorithm>
#include <utility>

#include "service/controller/core/job.h"

namespace pace::controller {

void Job::set_run(Run run, uint64_t before) {
    run_ = std::move(run);
    run_before_ = before;
    views_.set_run_began(run_.began);
}

bool Job::is_patience_over(TimePoint now) const {
    return empty_since_ && now - *empty_since_ >= 5 * cluster_.options.liveness_max;
}

bool Job::awaits_return(TimePoint now) const {
    return live_ == 0 && !is_patience_over(now) &&
           std::any_of(workers_.begin(), workers_.end(),
                       [](const Worker& worker) { return worker.state == WorkerState::missing; });
}

bool Job::is_deserted(TimePoint now) const {
    return live_ == 0 && has_been_joined() && !awaits_return(now);
}

bool Job::have_all_died(TimePoint now) const {
    if (!is_deserted(now)) return false;
    return is_patience_over(now) ||
           std::none_of(workers_.begin(), workers_.end(), [](const Worker& worker) {
               return worker.state == WorkerState::lost && worker.node_was_lost;
           });
}

}  // namespace pace::controller
