// Converts seconds of a prediction to durations of the virtual clock.
#pragma once

#include <algorithm>
#include <cmath>

#include "base/clock.h"

namespace pace::simulator {

// No step and no exchange is longer than a day, so that thousands of them fit in the clock.
inline constexpr double kLongestSeconds = 86'400;

// Rounded to the nearest nanosecond.
inline base::Duration to_duration(double seconds) {
    return base::Duration(std::llround(std::clamp(seconds, 0.0, kLongestSeconds) * 1e9));
}

}  // namespace pace::simulator
