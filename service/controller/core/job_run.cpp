// Job run: which run this is, and whether it is over.
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

std::optional<TimePoint> Job::finished_since(TimePoint now) const {
    return is_gathering() || !is_deserted(now) ? std::nullopt : empty_since_;
}

bool Job::have_all_died(TimePoint now) const {
    if (!is_deserted(now)) return false;
    return is_patience_over(now) ||
           std::none_of(workers_.begin(), workers_.end(), [](const Worker& worker) {
               return worker.state == WorkerState::lost && worker.node_was_lost;
           });
}

void Job::look_for_start(TimePoint now) {
    const bool enough = options_.min_workers != 0 && live_ >= options_.min_workers;
    if (is_started() || !enough) {
        enough_since_.reset();
    } else if (!enough_since_) {
        enough_since_ = now;
    }
}

std::optional<TimePoint> Job::late_start() const {
    if (!enough_since_ || is_started()) return std::nullopt;
    return *enough_since_ + std::chrono::milliseconds(options_.min_workers_wait_ms);
}

bool Job::start_is_due(TimePoint now) const {
    if (is_started() || live_ == 0) return false;
    const auto late = late_start();
    return ranks_seen_ == options_.world || (late && now >= *late);
}

}  // namespace pace::controller
