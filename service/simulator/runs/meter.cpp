#include "service/simulator/runs/meter.h"

#include <algorithm>
#include <utility>

#include "service/controller/core/groups/spectral_gap.h"

namespace pace::simulator {

namespace {

// About 0.3 s: three hundred steps of Lanczos' iteration for ten thousand workers.
constexpr uint64_t kSpectralVisits = 60'000'000;

uint32_t warm_steps(uint32_t steps) {
    return std::max(steps / 4, 5U);
}

}  // namespace

Meter::Meter(uint32_t workers, uint32_t steps, TimePoint start)
    : warm_(uint64_t{workers} * warm_steps(steps)),
      measured_(uint64_t{workers} * steps),
      begun_(start),
      now_(start),
      workers_(workers, WorkerTimes{start, start, 0}) {}

void Meter::add(const Update& update) {
    ++updates_;
    now_ = update.ended;
    WorkerTimes& worker = workers_[update.rank];
    worker.last = update.ended;
    if (updates_ <= warm_) {
        begun_ = worker.before = update.ended;
        return;
    }
    ++worker.updates;
    computing_ += update.computing;
    waiting_ += update.waiting;
    exchanging_ += update.exchanging;
    conflicts_ += update.had_conflict ? 1 : 0;
    staleness_ += update.staleness;
    distance_ += update.distance;
}

void Meter::add_group(std::vector<controller::Rank> members) {
    if (is_measuring()) groups_.push_back(std::move(members));
}

Outcome Meter::outcome() const {
    Outcome outcome = times();
    outcome.groups = groups_.size();
    outcome.rho =
        controller::spectral_gap(static_cast<uint32_t>(workers_.size()), groups_, kSpectralVisits);
    return outcome;
}

Outcome Meter::outcome_of_one_model(uint64_t groups) const {
    Outcome outcome = times();
    outcome.groups = groups;
    return outcome;
}

Outcome Meter::times() const {
    Outcome outcome;
    const auto updates = static_cast<double>(updates_ - warm_);
    outcome.updates = updates_ - warm_;
    outcome.updates_per_s = updates / base::to_seconds(now_ - begun_);
    std::vector<double> times = update_times_s();
    std::sort(times.begin(), times.end());
    outcome.update_median_s = times[times.size() / 2];
    outcome.update_slowest_s = times.back();
    const double all = base::to_seconds(computing_ + waiting_ + exchanging_);
    outcome.waiting_share = base::to_seconds(waiting_) / all;
    outcome.exchanging_share = base::to_seconds(exchanging_) / all;
    outcome.conflicts = conflicts_;
    outcome.staleness = static_cast<double>(staleness_) / updates;
    outcome.spread = distance_ / updates;
    return outcome;
}

// Returns each worker's mean. For a worker without an update, the least time that its first update
// takes.
std::vector<double> Meter::update_times_s() const {
    std::vector<double> times;
    for (const WorkerTimes& worker : workers_) {
        const TimePoint end = worker.updates == 0 ? now_ : worker.last;
        const auto updates = static_cast<double>(std::max<uint64_t>(worker.updates, 1));
        times.push_back(base::to_seconds(end - worker.before) / updates);
    }
    return times;
}

}  // namespace pace::simulator
