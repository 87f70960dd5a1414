#include "base/clock.h"

#include <ctime>

namespace pace::base {

TimePoint now_through_sleep() {
    if (is_simulated()) return now() + Duration(detail::simulated_sleep_ns.load());
    timespec time{};
    if (clock_gettime(CLOCK_BOOTTIME, &time) != 0) return now();
    return TimePoint(std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec));
}

Duration thread_cpu_time() {
    timespec time{};
    if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) != 0) return now().time_since_epoch();
    return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

uint64_t now_ns() {
    return static_cast<uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(now().time_since_epoch()).count());
}

Duration since_1970() {
    return is_simulated() ? now().time_since_epoch()
                          : std::chrono::system_clock::now().time_since_epoch();
}

}  // namespace pace::base
