#include "transports/tls/wire/readiness.h"

#include <sys/timerfd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace pace::transports::tls {

namespace {

// The timer's token. Connections have larger ones.
constexpr Readiness::Token kTimer = 0;
constexpr size_t kEventsMax = 64;

}  // namespace

Readiness::Readiness(base::UniqueFd epoll, base::UniqueFd timer)
    : epoll_(std::move(epoll)), timer_(std::move(timer)) {}

base::Result<std::unique_ptr<Readiness>> Readiness::create() {
    base::UniqueFd epoll(epoll_create1(EPOLL_CLOEXEC));
    if (!epoll.valid()) return base::make_errno_error(errno, "create epoll");
    base::UniqueFd timer(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
    if (!timer.valid()) return base::make_errno_error(errno, "create a timer");
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = kTimer;
    if (epoll_ctl(epoll.get(), EPOLL_CTL_ADD, timer.get(), &event) != 0)
        return base::make_errno_error(errno, "watch the timer");
    return std::unique_ptr<Readiness>(new Readiness(std::move(epoll), std::move(timer)));
}

base::Result<Readiness::Token> Readiness::watch_connection(int fd) {
    return watch(fd, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET);
}

base::Result<Readiness::Token> Readiness::watch_listener(int fd) {
    return watch(fd, EPOLLIN);
}

base::Result<Readiness::Token> Readiness::watch(int fd, uint32_t events) {
    epoll_event event{};
    event.events = events;
    event.data.u64 = next_token_;
    if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0)
        return base::make_errno_error(errno, "watch a socket");
    return next_token_++;
}

void Readiness::unwatch(int fd) {
    epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
}

size_t Readiness::take(std::span<Event> events) {
    std::array<epoll_event, kEventsMax> found{};
    const auto room = static_cast<int>(std::min(events.size(), found.size()));
    const int count = epoll_wait(epoll_.get(), found.data(), room, 0);
    size_t taken = 0;
    for (int i = 0; i < count; ++i) {
        const epoll_event& event = found[static_cast<size_t>(i)];
        if (event.data.u64 == kTimer) {
            uint64_t expirations = 0;
            [[maybe_unused]] const ssize_t got =
                read(timer_.get(), &expirations, sizeof(expirations));
            wakes_at_.reset();
            continue;
        }
        // Whoever reads or writes learns that the connection is closed or broken.
        const bool ended = (event.events & (EPOLLHUP | EPOLLERR)) != 0;
        events[taken++] = {event.data.u64, ended || (event.events & (EPOLLIN | EPOLLRDHUP)) != 0,
                           ended || (event.events & EPOLLOUT) != 0};
    }
    return taken;
}

void Readiness::wake_at(std::optional<base::TimePoint> when) {
    if (when == wakes_at_) return;
    wakes_at_ = when;
    itimerspec spec{};
    if (when) {
        const auto since = std::max<base::Duration>(when->time_since_epoch(), base::Duration(1));
        const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(since);
        spec.it_value.tv_sec = seconds.count();
        spec.it_value.tv_nsec = (since - seconds).count();
    }
    timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &spec, nullptr);
}

}  // namespace pace::transports::tls
