// AwakeClock: the time that the core lives by: the monotonic clock, less the time in which this process did not run.
//
// A controller that was stopped, or got no processor, has heard nobody meanwhile, which says nothing about the others: for the core,
// whose every deadline goes by this clock, that time has not passed. Pure: whoever owns it reads the monotonic clock.
#pragma once

#include <chrono>

#include "base/clock.h"

namespace pace::controller {

class AwakeClock {
  public:
    // A process that runs looks at least this often.
    static constexpr base::Duration kPulse = std::chrono::milliseconds(100);
    // How much later its look may come. A guess: many times what a loaded machine takes to schedule a process, a fraction of any liveness
    // deadline.
    static constexpr base::Duration kLate = std::chrono::milliseconds(50);

    explicit AwakeClock(base::TimePoint monotonic) : looked_(monotonic) {}

    // Returns for how long the process did not run before now; zero if it did.
    base::Duration look(base::TimePoint monotonic) {
        const base::Duration gap = monotonic - looked_;
        looked_ = monotonic;
        if (gap <= kPulse + kLate) return base::Duration::zero();
        stood_still_ += gap - kPulse;
        return gap - kPulse;
    }

    base::TimePoint at(base::TimePoint monotonic) const { return monotonic - stood_still_; }
    base::TimePoint to_monotonic(base::TimePoint awake) const { return awake + stood_still_; }

  private:
    base::TimePoint looked_;
    base::Duration stood_still_{};
};

}  // namespace pace::controller
