// SimulatedTime: while one exists, base::now() stands still unless it is moved, and random_token()
// follows a seed. So a whole cluster in one thread is a function of that seed.
//
// For tests, one at a time. No other thread may run that reads the clock.
#pragma once

#include "base/clock.h"
#include "base/random.h"

namespace pace::base {

class SimulatedTime {
  public:
    explicit SimulatedTime(uint64_t seed) : tokens_(seed) {
        detail::simulated_tokens = &tokens_;
        set(TimePoint(std::chrono::seconds(1000)));
    }
    ~SimulatedTime() {
        detail::simulated_ns.store(0);
        detail::simulated_tokens = nullptr;
    }
    SimulatedTime(const SimulatedTime&) = delete;
    SimulatedTime& operator=(const SimulatedTime&) = delete;

    // `slept`: how long the machine whose time it is has slept so far.
    static void set(TimePoint now, Duration slept = {}) {
        detail::simulated_ns.store(now.time_since_epoch().count(), std::memory_order_relaxed);
        detail::simulated_sleep_ns.store(slept.count(), std::memory_order_relaxed);
    }

  private:
    Random tokens_;
};

}  // namespace pace::base
