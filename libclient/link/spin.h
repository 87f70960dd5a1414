// Spin: tells how long a waiter looks at the ring before it sleeps.
//
// Sleeping costs two system calls and a wake-up, some 20 us. Spinning takes the processor from
// other threads. The waits of a training loop resemble one another, so the last waits predict the
// next wait. After short waits we spin a little longer than those waits took. After long waits we
// hardly spin at all. Every look yields the processor, since the daemon may need the very core that
// we run on.
#pragma once

#include <algorithm>
#include <chrono>

#include "base/clock.h"

namespace pace::client {

// These values are guesses. Replace them by measurements when the bench has some.
inline constexpr base::Duration kSpinMax = std::chrono::microseconds(100);
inline constexpr base::Duration kSpinMin = std::chrono::microseconds(5);

class Spin {
  public:
    // Returns how long the next wait should spin.
    base::Duration budget() const {
        return expected_ > kSpinMax ? kSpinMin : std::clamp(2 * expected_, kSpinMin, kSpinMax);
    }

    // A wait took the time `waited`, asleep or not.
    void learn(base::Duration waited) {
        // Long waits are cut off. A few short waits are then enough to turn to spinning again.
        expected_ = (3 * expected_ + std::min(waited, 4 * kSpinMax)) / 4;
    }

  private:
    base::Duration expected_ = kSpinMax / 2;
};

}  // namespace pace::client
