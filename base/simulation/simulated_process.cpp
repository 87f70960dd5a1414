#include "base/simulation/simulated_process.h"

namespace pace::base {

namespace {

timespec time_left(TimePoint deadline) {
    constexpr Duration day = std::chrono::hours(24);
    const TimePoint time = now();
    if (deadline <= time) return {0, 0};
    const int64_t left = (deadline - time > day ? day : Duration(deadline - time)).count();
    return {left / 1000000000, left % 1000000000};
}

}  // namespace

int wait_on(std::span<pollfd> watched, TimePoint deadline) {
    if (SimulatedProcesses* const simulated = simulated_processes())
        return simulated->wait(watched, deadline);
    const timespec left = time_left(deadline);
    return ppoll(watched.data(), watched.size(), &left, nullptr);
}

}  // namespace pace::base
