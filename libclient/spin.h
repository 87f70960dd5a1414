// Spin: how long a waiter looks at the ring before it sleeps.
//
// Sleeping costs two system calls and a wake-up, some 20 us; spinning costs the processor to
// others. The waits of a training loop resemble one another, so the last ones predict the next:
// where they were short we spin a little longer than they took, where they were long we hardly spin
// at all. Every look yields the processor, since the daemon may need the very core we are on.
#pragma once

#include <algorithm>
#include <chrono>

#include "base/clock.h"

namespace pace::client {

// Guesses, to be replaced by measurements when the bench has some.
inline constexpr base::Duration kSpinMax = std::chrono::microseconds(100);
inline constexpr base::Duration kSpinMin = std::chrono::microseconds(5);

class Spin {
  public:
    // How long the next wait should spin.
    base::Duration budget() const {
        return expected_ > kSpinMax ? kSpinMin : std::clamp(2 * expected_, kSpinMin, kSpinMax);
    }

    // A wait took this long, asleep or not.
    void learn(base::Duration waited) {
        // Long waits are cut off, so that a few short ones are enough to turn to spinning again.
        expected_ = (3 * expected_ + std::min(waited, 4 * kSpinMax)) / 4;
    }

  private:
    base::Duration expected_ = kSpinMax / 2;
};

}  // namespace pace::client
