// The monotonic clock: the only one that deadlines and measurements use.
#pragma once

#include <chrono>
#include <cstdint>

namespace pace::base {

using Clock = std::chrono::steady_clock;
using TimePoint = Clock::time_point;
using Duration = std::chrono::nanoseconds;

inline TimePoint now() {
    return Clock::now();
}

// Nanoseconds on the monotonic clock, comparable between processes of one machine.
uint64_t now_ns();

inline double to_seconds(Duration duration) {
    return std::chrono::duration<double>(duration).count();
}

}  // namespace pace::base
