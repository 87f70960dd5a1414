// CallTimes: what a worker's time goes into, as its daemon sees it. It computes while it has no call in flight. In its calls it waits, until
// all whom the exchange needs have called, and exchanges from then on.
//
// Waits and exchanges count when the worker has no call in flight any more, together with the number of times that this has happened: the
// difference of two readings is of whole calls, whenever they are taken.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/clock.h"
#include "daemon/control/messages.h"

namespace pace::daemon {

class CallTimes {
  public:
    using Activity = control::Activity;

    explicit CallTimes(base::TimePoint now = base::now()) : since_(now) {}

    // It calls. Nothing changes if another call is in flight.
    void call(uint64_t iteration, base::TimePoint now) {
        const bool is_another = iteration == 0 || iteration != step_;
        step_ = iteration;
        if (is_another) ++steps_;
        begin_call(now);
    }
    // The same of a call that is part of no step, as a pull is.
    void begin_call(base::TimePoint now) {
        if (activity_ == Activity::computing) enter(Activity::waiting, now);
    }
    // Its exchange begins, or did so a moment ago.
    void begin_exchange(base::TimePoint when) {
        if (activity_ == Activity::waiting) enter(Activity::exchanging, when);
    }
    // Only then were all there whom the exchange needs.
    void met(base::TimePoint when) {
        if (activity_ != Activity::exchanging || when <= since_) return;
        waiting_ += when - since_;
        since_ = when;
    }
    // The exchange has not come about.
    void wait_again(base::TimePoint now) {
        if (activity_ == Activity::exchanging) enter(Activity::waiting, now);
    }
    // One of its calls has ended, and another one waited behind it.
    void go_on(base::TimePoint now) { wait_again(now); }
    // It has no call in flight any more.
    void end(base::TimePoint now) {
        if (activity_ == Activity::computing) return;
        enter(Activity::computing, now);
        waited_ += waiting_;
        exchanged_ += exchanging_;
        waiting_ = exchanging_ = {};
        ++times_called_;
    }

    uint64_t steps() const { return steps_; }
    uint64_t times_called() const { return times_called_; }
    base::Duration waited() const { return waited_; }
    base::Duration exchanged() const { return exchanged_; }
    Activity activity() const { return activity_; }
    base::TimePoint since() const { return since_; }

  private:
    void enter(Activity next, base::TimePoint when) {
        const base::TimePoint at = std::max(when, since_);
        if (activity_ == Activity::waiting) waiting_ += at - since_;
        if (activity_ == Activity::exchanging) exchanging_ += at - since_;
        activity_ = next;
        since_ = at;
    }

    Activity activity_ = Activity::computing;
    base::TimePoint since_;
    base::Duration waiting_{};  // of what is in flight
    base::Duration exchanging_{};
    base::Duration waited_{};
    base::Duration exchanged_{};
    uint64_t times_called_ = 0;
    uint64_t steps_ = 0;
    uint64_t step_ = 0;  // the iteration of its last call; 0: it named none
};

}  // namespace pace::daemon
