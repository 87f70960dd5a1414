// GroupWait: how long a signal waits for its group to fill, learnt from the arrival times of
// signals.
//
// A group of P gets P times the usual gap between two arrivals, deviation included (Jacobson's
// estimator). The wait is at least half a median step, so that in a large job an ordinary pause of
// microseconds does not close small groups. The wait is at most ten median steps. The gap
// measurement restarts when a group forms: a wait that the controller caused says nothing about the
// workers, and counting it would make the wait grow by itself.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "service/controller/vocabulary/types.h"

namespace pace::controller {

class GroupWait {
  public:
    // If `fixed` is not zero, the wait is always `fixed`.
    GroupWait(uint32_t group_size, Duration fixed) : group_size_(group_size), fixed_(fixed) {}

    void on_arrival(TimePoint now);
    void on_group(TimePoint now) { since_ = now; }

    // A worker computed for `step` between two exchanges.
    void on_step(Duration step);

    Duration wait() const;

    // How long P arrivals usually take. Never more than wait(), and far less in a large job.
    Duration usual() const;

    // The median of the last steps of all workers; zero before the first step.
    Duration median_step() const { return median_step_; }

    // A worker that has not signalled for this long is frozen: ten median steps, at least a second.
    Duration frozen_after() const;

  private:
    static constexpr size_t kSteps = 127;     // the median is taken of so many
    static constexpr uint32_t kRefresh = 16;  // steps between two updates of the median
    static constexpr int kArrivalsBeforeTrust = 4;

    bool is_learnt() const { return steps_seen_ != 0 && arrivals_ >= kArrivalsBeforeTrust; }
    Duration learnt() const;

    uint32_t group_size_;
    Duration fixed_;
    TimePoint since_{};
    int arrivals_ = 0;
    double gap_mean_ns_ = 0;
    double gap_deviation_ns_ = 0;
    std::array<Duration, kSteps> steps_{};
    size_t steps_seen_ = 0;
    Duration median_step_{};
};

}  // namespace pace::controller
