#include "daemon/program.h"

#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <systemd/sd-daemon.h>

#include <csignal>

namespace pace::daemon {

base::Result<base::UniqueFd> stop_on_signals(base::EventLoop& loop) {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    if (pthread_sigmask(SIG_BLOCK, &signals, nullptr) != 0)
        return base::make_errno_error(errno, "block signals");
    // A write to a client that has gone, or beyond a file size limit (a memfd counts as a file),
    // must be an error of the call.
    for (const int ignored : {SIGPIPE, SIGXFSZ}) {
        if (std::signal(ignored, SIG_IGN) == SIG_ERR)
            return base::make_errno_error(errno, "ignore a signal");
    }
    base::UniqueFd fd(signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!fd.valid()) return base::make_errno_error(errno, "create signalfd");
    PACE_TRY(loop.watch(fd.get(), EPOLLIN, [&loop](uint32_t) { loop.stop(); }));
    return fd;
}

namespace {

// Half of the watchdog's time, as sd_watchdog_enabled(3) advises. Without a watchdog, five seconds,
// for the status line.
base::Duration notify_interval() {
    uint64_t microseconds = 0;
    if (sd_watchdog_enabled(0, &microseconds) > 0)
        return std::chrono::microseconds(microseconds / 2);
    return std::chrono::seconds(5);
}

}  // namespace

void ServiceManager::ready() {
    if (sd_notify(0, "READY=1") <= 0) return;
    interval_ = notify_interval();
    report();
}

void ServiceManager::report() {
    sd_notifyf(0, "WATCHDOG=1\nSTATUS=%s", status_line_().c_str());
    timer_ = loop_.run_after(interval_, [this] { report(); });
}

void ServiceManager::stopping() {
    sd_notify(0, "STOPPING=1");
}

}  // namespace pace::daemon
