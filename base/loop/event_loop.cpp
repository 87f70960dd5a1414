#include "base/loop/event_loop.h"

#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace pace::base {

Result<std::unique_ptr<EventLoop>> EventLoop::create(Duration spin) {
    UniqueFd epoll(epoll_create1(EPOLL_CLOEXEC));
    if (!epoll.valid()) return make_errno_error(errno, "create epoll");
    UniqueFd wakeup(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!wakeup.valid()) return make_errno_error(errno, "create eventfd");
    std::unique_ptr<EventLoop> loop(new EventLoop(std::move(epoll), std::move(wakeup), spin));
    EventLoop* raw = loop.get();
    PACE_TRY(loop->watch(raw->wakeup_.get(), EPOLLIN, [raw](uint32_t) {
        uint64_t count = 0;
        [[maybe_unused]] const ssize_t got = read(raw->wakeup_.get(), &count, sizeof(count));
        raw->run_posted();
    }));
    return loop;
}

EventLoop::EventLoop(UniqueFd epoll, UniqueFd wakeup, Duration spin)
    : epoll_(std::move(epoll)), wakeup_(std::move(wakeup)), spin_(spin) {}

EventLoop::~EventLoop() = default;

Result<> EventLoop::watch(int fd, uint32_t events, std::function<void(uint32_t)> callback,
                          Origin origin) {
    epoll_event event{};
    event.events = events;
    event.data.fd = fd;
    const int operation = watched_.contains(fd) ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
    if (epoll_ctl(epoll_.get(), operation, fd, &event) != 0)
        return make_errno_error(errno, fmt::format("watch descriptor {}", fd));
    watched_[fd] = std::make_shared<Watched>(Watched{std::move(callback), origin});
    return {};
}

void EventLoop::unwatch(int fd) {
    if (watched_.erase(fd) > 0) epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
}

void EventLoop::defer(Callback callback, Origin origin) {
    deferred_.push_back({std::move(callback), origin});
}

void EventLoop::post(Callback callback, Origin origin) {
    post_bound(std::move(callback), origin);
}

void EventLoop::post_bound(std::function<void()> callback, Origin origin) {
    {
        const std::lock_guard lock(posted_mutex_);
        posted_.push_back({std::move(callback), origin});
    }
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(wakeup_.get(), &one, sizeof(one));
}

void EventLoop::add_poller(Poller* poller, Origin origin) {
    pollers_.push_back({poller, origin});
}

void EventLoop::remove_poller(Poller* poller) {
    // The entry becomes null instead of being erased, so that a running loop over the pollers stays
    // valid.
    for (Polled& polled : pollers_)
        if (polled.poller == poller) polled.poller = nullptr;
}

void EventLoop::run() {
    while (!stopping_) turn(true);
    stopping_ = false;
}

void EventLoop::stop() {
    stopping_ = true;
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(wakeup_.get(), &one, sizeof(one));
}

bool EventLoop::turn(bool may_sleep) {
    if (std::exchange(was_out_of_memory_, false) && out_of_memory_) call(out_of_memory_);
    bool worked = run_pollers();
    worked = run_deferred() || worked;
    call([&] { worked = timers_->run(now()) || worked; });
    if (worked || !may_sleep || stopping_) {
        spinning_ = false;
        worked = wait_descriptors(0) || worked;
        return run_deferred() || worked;
    }
    if (spin_ > Duration::zero() && !pollers_.empty()) {
        const TimePoint time = now();
        if (!spinning_) {
            spinning_ = true;
            idle_since_ = time;
        }
        if (time - idle_since_ < spin_) {
            sched_yield();
            return false;
        }
    }
    spinning_ = false;
    const bool armed = arm_pollers();
    if (armed) worked = wait_descriptors(sleep_limit_ms());
    disarm_pollers();
    return run_deferred() || worked || !armed;
}

bool EventLoop::run_pollers() {
    bool worked = false;
    for (size_t i = 0; i < pollers_.size(); ++i) {
        Poller* const poller = pollers_[i].poller;
        if (poller == nullptr) continue;
        measured(pollers_[i].origin, [&] { worked = poller->poll() || worked; });
    }
    std::erase_if(pollers_, [](const Polled& polled) { return polled.poller == nullptr; });
    return worked;
}

bool EventLoop::run_deferred() {
    if (deferred_.empty()) return false;
    std::vector<Deferred> batch;
    batch.swap(deferred_);
    for (const Deferred& call : batch) measured(call.origin, call.run);
    return true;
}

bool EventLoop::run_posted() {
    std::vector<Posted> batch;
    {
        const std::lock_guard lock(posted_mutex_);
        batch.swap(posted_);
    }
    for (const Posted& call : batch) measured(call.origin, call.run);
    return !batch.empty();
}

void EventLoop::settle(TimePoint deadline) {
    while (now() < deadline) {
        const bool posted = run_posted();
        if (!run_deferred() && !posted) return;
    }
}

bool EventLoop::arm_pollers() {
    for (const Polled& polled : pollers_) {
        if (polled.poller != nullptr && !polled.poller->arm()) return false;
    }
    return true;
}

void EventLoop::disarm_pollers() {
    for (const Polled& polled : pollers_) {
        if (polled.poller != nullptr) polled.poller->disarm();
    }
}

bool EventLoop::wait_descriptors(int timeout_ms) {
    std::array<epoll_event, 64> events{};
    const int count =
        epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), timeout_ms);
    for (int i = 0; i < count; ++i) {
        // An earlier callback may have removed a later descriptor of this batch: look up each
        // descriptor again. A callback may remove itself: hold it while it runs.
        const auto entry = watched_.find(events[static_cast<size_t>(i)].data.fd);
        if (entry == watched_.end()) continue;
        const auto watched = entry->second;
        measured(watched->origin, [&] { watched->run(events[static_cast<size_t>(i)].events); });
    }
    return count > 0;
}

int EventLoop::sleep_limit_ms() const {
    if (stopping_ || was_out_of_memory_ || !deferred_.empty() || is_simulated()) return 0;
    const auto due = timers_->next();
    if (!due) return -1;
    const Duration left = *due - now();
    if (left <= Duration::zero()) return 0;
    const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(left).count();
    return static_cast<int>(std::min<int64_t>(milliseconds, 3'600'000));
}

}  // namespace pace::base
