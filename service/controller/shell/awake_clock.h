// AwakeClock: the clock of the core: the time less that in which this process did not run, because
// it was stopped or because its machine slept.
//
// A controller that was stopped, or got no processor, has heard from nobody meanwhile. This says
// nothing about the daemons. All deadlines of the core use this clock, so for the core that time
// has not passed. Pure: the owner reads the clock that goes on while the machine sleeps
// (base::now_through_sleep) and passes the time.
#pragma once

#include <chrono>

#include "base/clock.h"

namespace pace::controller {

class AwakeClock {
  public:
    // A process that runs calls look() at least this often.
    static constexpr base::Duration kPulse = std::chrono::milliseconds(100);
    // How much later the call may come. A guess: many times the time that a loaded machine takes to
    // schedule a process, and a fraction of any liveness deadline.
    static constexpr base::Duration kLate = std::chrono::milliseconds(50);

    // A controller that has not run for this long begins anew. This is half of the silence after
    // which a daemon gives it up, so that it never continues with some daemons while others have
    // given it up.
    static constexpr base::Duration kGivenUp = std::chrono::seconds(1);

    explicit AwakeClock(base::TimePoint now) : looked_(now) {}

    // Returns how long the process did not run before now; zero if it ran.
    base::Duration look(base::TimePoint now) {
        const base::Duration gap = now - looked_;
        looked_ = now;
        if (gap <= kPulse + kLate) return base::Duration::zero();
        stood_still_ += gap - kPulse;
        return gap - kPulse;
    }

    base::TimePoint at(base::TimePoint now) const { return now - stood_still_; }
    // How long after `now` this clock shows `awake`.
    base::Duration until(base::TimePoint awake, base::TimePoint now) const {
        return awake - at(now);
    }

  private:
    base::TimePoint looked_;
    base::Duration stood_still_{};
};

}  // namespace pace::controller
