#include "service/pacectl/console/repeat.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <optional>

#include "base/clock.h"
#include "service/pacectl/console/wakeups.h"

namespace pace::pacectl {

namespace {

// -1: forever.
int milliseconds_left(std::optional<base::TimePoint> until) {
    if (!until) return -1;
    constexpr int64_t kMost = 1'000'000'000;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*until - base::now());
    return static_cast<int>(std::clamp<int64_t>(left.count(), 0, kMost));
}

}  // namespace

base::Result<Ended> repeat(double interval_s, double for_s, const std::function<bool()>& look) {
    PACE_TRY_ASSIGN(signals, watch_signals(Signals::ends));
    PACE_TRY_ASSIGN(ticks, tick_every(interval_s));
    std::optional<base::TimePoint> until;
    if (for_s > 0)
        until = base::now() +
                std::chrono::duration_cast<base::Duration>(std::chrono::duration<double>(for_s));
    std::array<pollfd, 2> sources{pollfd{signals.get(), POLLIN, 0}, pollfd{ticks.get(), POLLIN, 0}};
    for (;;) {
        const int woken = poll(sources.data(), sources.size(), milliseconds_left(until));
        if (woken < 0 && errno != EINTR) return base::make_errno_error(errno, "wait for a tick");
        if (read_signals(signals.get()) == Wish::end) return Ended::signal;
        if (read_ticks(ticks.get()) != Wish::none && look()) return Ended::done;
        if (until && base::now() >= *until) return Ended::time_over;
    }
}

}  // namespace pace::pacectl
