// The monotonic clock, which deadlines and measurements use. A simulation replaces it
// (simulated_time.h).
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace pace::base {

using Clock = std::chrono::steady_clock;
using TimePoint = Clock::time_point;
using Duration = std::chrono::nanoseconds;

namespace detail {
// The simulated time, in nanoseconds since the clock's epoch. 0: there is no simulation.
inline std::atomic<int64_t> simulated_ns{0};
// How long the simulated machine has slept.
inline std::atomic<int64_t> simulated_sleep_ns{0};
}  // namespace detail

inline bool is_simulated() {
    return detail::simulated_ns.load(std::memory_order_relaxed) != 0;
}

inline TimePoint now() {
    const int64_t simulated = detail::simulated_ns.load(std::memory_order_relaxed);
    return simulated == 0 ? Clock::now() : TimePoint(Duration(simulated));
}

// As now(), but this clock goes on while the machine sleeps. For whoever must know how long a
// process did not run. Compare it with itself only.
TimePoint now_through_sleep();

// The processor time that the calling thread has used. Waiting for a processor does not count.
Duration thread_cpu_time();

// Nanoseconds on the monotonic clock, comparable between processes of one machine.
uint64_t now_ns();

// The time since the begin of 1970, for people and to order what different machines have begun.
Duration since_1970();

inline double to_seconds(Duration duration) {
    return std::chrono::duration<double>(duration).count();
}

}  // namespace pace::base
