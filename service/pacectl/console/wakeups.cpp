#include "service/pacectl/console/wakeups.h"

#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <csignal>

namespace pace::pacectl {

using base::make_errno_error;
using base::Result;
using base::UniqueFd;

namespace {

Wish wish_of(uint32_t number) {
    switch (number) {
        case SIGWINCH:
            return Wish::redraw;
        case SIGCONT:
            return Wish::take_again;
        case SIGTSTP:
            return Wish::stop;
        default:
            return Wish::end;
    }
}

}  // namespace

Result<UniqueFd> watch_signals(Signals signals) {
    sigset_t set;
    sigemptyset(&set);
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) sigaddset(&set, number);
    if (signals == Signals::of_terminal) {
        for (const int number : {SIGWINCH, SIGTSTP, SIGCONT}) sigaddset(&set, number);
    }
    if (sigprocmask(SIG_BLOCK, &set, nullptr) != 0) return make_errno_error(errno, "block signals");
    UniqueFd fd(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!fd.valid()) return make_errno_error(errno, "watch signals");
    return fd;
}

Wish read_signals(int fd) {
    signalfd_siginfo info{};
    Wish wish = Wish::none;
    while (read(fd, &info, sizeof(info)) == static_cast<ssize_t>(sizeof(info)))
        wish = std::max(wish, wish_of(info.ssi_signo));
    return wish;
}

Result<UniqueFd> tick_every(double interval_s) {
    UniqueFd fd(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
    if (!fd.valid()) return make_errno_error(errno, "create a timer");
    itimerspec spec{};
    spec.it_interval.tv_sec = static_cast<time_t>(interval_s);
    spec.it_interval.tv_nsec =
        std::lround((interval_s - std::floor(interval_s)) * 1e9) % 1'000'000'000;
    spec.it_value.tv_nsec = 1;  // first tick now
    if (timerfd_settime(fd.get(), 0, &spec, nullptr) != 0)
        return make_errno_error(errno, "set a timer");
    return fd;
}

Wish read_ticks(int fd) {
    uint64_t ticks = 0;
    return read(fd, &ticks, sizeof(ticks)) > 0 ? Wish::redraw : Wish::none;
}

}  // namespace pace::pacectl
