// CallTimes: what a worker spends its time on, as its daemon sees it. The worker computes while it
// has no call in flight. In a call it waits until all workers that the exchange needs have called,
// and exchanges from then on.
//
// Waiting and exchanging are added up when the worker has no call in flight any more, and so is the
// number of times that this has happened. The difference of two readings therefore covers whole
// calls, whenever the readings are taken.
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

    // The worker calls. Nothing changes if another call is in flight.
    void call(uint64_t iteration, base::TimePoint now) {
        const bool is_another = iteration == 0 || iteration != step_;
        step_ = iteration;
        if (is_another) ++steps_;
        begin_call(now);
    }
    // As call(), for a call that is part of no step, such as a pull.
    void begin_call(base::TimePoint now) {
        if (activity_ == Activity::computing) enter(Activity::waiting, now);
    }
    // The call's exchange begins, or began a moment ago.
    void begin_exchange(base::TimePoint when) {
        if (activity_ == Activity::waiting) enter(Activity::exchanging, when);
    }
    // All workers that the exchange needs were there only at `when`: it has waited until then.
    void met(base::TimePoint when) {
        if (activity_ != Activity::exchanging || when <= since_) return;
        waiting_ += when - since_;
        since_ = when;
    }
    // The exchange did not come about.
    void wait_again(base::TimePoint now) {
        if (activity_ == Activity::exchanging) enter(Activity::waiting, now);
    }
    // One of the worker's calls has ended, and another one waited behind it.
    void go_on(base::TimePoint now) { wait_again(now); }
    // The worker has no call in flight any more.
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
    base::Duration waiting_{};  // of the calls in flight
    base::Duration exchanging_{};
    base::Duration waited_{};
    base::Duration exchanged_{};
    uint64_t times_called_ = 0;
    uint64_t steps_ = 0;
    uint64_t step_ = 0;  // the iteration of the last call; 0: that call named none
};

}  // namespace pace::daemon
