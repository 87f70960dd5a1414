// GroupWait: how long a signal waits for its group to fill, learnt from how signals arrive.
//
// A group of P needs P arrivals; it is given P times the usual gap between two of them, deviation
// included (Jacobson's estimator), but half a median step at least, so that in a large job an
// ordinary pause of microseconds does not close small groups, and ten median steps at most. The gap
// starts anew when a group forms: a wait of our own making is no property of the workers, and
// counting it would let the wait feed on itself.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "service/controller/core/types.h"

namespace pace::controller {

class GroupWait {
  public:
    // A fixed wait of `fixed` if that is not zero.
    GroupWait(uint32_t group_size, Duration fixed) : group_size_(group_size), fixed_(fixed) {}

    void on_arrival(TimePoint now);
    void on_group(TimePoint now) { since_ = now; }

    // A worker has computed for this long between two exchanges.
    void on_step(Duration step);

    Duration wait() const;

    // How long P arrivals usually take; in a large job far less than wait(), which it never exceeds.
    Duration usual() const;

    // Of the last steps of all workers; zero before the first.
    Duration median_step() const { return median_step_; }

    // A worker that has not signalled for this long is frozen: ten median steps, at least a second.
    Duration frozen_after() const;

  private:
    static constexpr size_t kSteps = 127;     // of which the median is taken
    static constexpr uint32_t kRefresh = 16;  // steps between two readings of the median
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
