#include "base/event_loop.h"

#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <array>
#include <cerrno>

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

Result<> EventLoop::watch(int fd, uint32_t events, std::function<void(uint32_t)> callback) {
    epoll_event event{};
    event.events = events;
    event.data.fd = fd;
    const int operation = watched_.contains(fd) ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
    if (epoll_ctl(epoll_.get(), operation, fd, &event) != 0)
        return make_errno_error(errno, fmt::format("watch descriptor {}", fd));
    watched_[fd] = std::make_shared<std::function<void(uint32_t)>>(std::move(callback));
    return {};
}

void EventLoop::unwatch(int fd) {
    if (watched_.erase(fd) > 0) epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
}

EventLoop::TimerId EventLoop::run_at(TimePoint when, std::function<void()> callback) {
    const TimerId id = next_timer_++;
    timers_.emplace(when, std::pair(id, std::move(callback)));
    timer_times_.emplace(id, when);
    return id;
}

void EventLoop::cancel_timer(TimerId id) {
    const auto time = timer_times_.find(id);
    if (time == timer_times_.end()) return;
    const auto [begin, end] = timers_.equal_range(time->second);
    for (auto timer = begin; timer != end; ++timer) {
        if (timer->second.first == id) {
            timers_.erase(timer);
            break;
        }
    }
    timer_times_.erase(time);
}

void EventLoop::defer(std::function<void()> callback) {
    deferred_.push_back(std::move(callback));
}

void EventLoop::post(std::function<void()> callback) {
    {
        const std::lock_guard lock(posted_mutex_);
        posted_.push_back(std::move(callback));
    }
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(wakeup_.get(), &one, sizeof(one));
}

void EventLoop::add_poller(Poller* poller) {
    pollers_.push_back(poller);
}

void EventLoop::remove_poller(Poller* poller) {
    // A null is left behind so that a loop over the pollers that is under way stays valid.
    std::replace(pollers_.begin(), pollers_.end(), poller, static_cast<Poller*>(nullptr));
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

void EventLoop::turn(bool may_sleep) {
    bool worked = run_pollers();
    worked = run_deferred() || worked;
    worked = run_timers() || worked;
    if (worked || !may_sleep || stopping_) {
        spinning_ = false;
        wait_descriptors(0);
        run_deferred();
        return;
    }
    if (spin_ > Duration::zero() && !pollers_.empty()) {
        const TimePoint time = now();
        if (!spinning_) {
            spinning_ = true;
            idle_since_ = time;
        }
        if (time - idle_since_ < spin_) {
            sched_yield();
            return;
        }
    }
    spinning_ = false;
    if (arm_pollers()) wait_descriptors(sleep_limit_ms());
    disarm_pollers();
    run_deferred();
}

bool EventLoop::run_pollers() {
    bool worked = false;
    for (size_t i = 0; i < pollers_.size(); ++i) {
        if (pollers_[i] != nullptr) worked = pollers_[i]->poll() || worked;
    }
    std::erase(pollers_, nullptr);
    return worked;
}

bool EventLoop::run_deferred() {
    if (deferred_.empty()) return false;
    std::vector<std::function<void()>> batch;
    batch.swap(deferred_);
    for (auto& callback : batch) callback();
    return true;
}

bool EventLoop::run_timers() {
    if (timers_.empty()) return false;
    const TimePoint time = now();
    bool ran = false;
    while (!timers_.empty() && timers_.begin()->first <= time) {
        auto node = timers_.extract(timers_.begin());
        timer_times_.erase(node.mapped().first);
        node.mapped().second();
        ran = true;
    }
    return ran;
}

void EventLoop::run_posted() {
    std::vector<std::function<void()>> batch;
    {
        const std::lock_guard lock(posted_mutex_);
        batch.swap(posted_);
    }
    for (auto& callback : batch) callback();
}

bool EventLoop::arm_pollers() {
    for (Poller* poller : pollers_) {
        if (poller != nullptr && !poller->arm()) return false;
    }
    return true;
}

void EventLoop::disarm_pollers() {
    for (Poller* poller : pollers_) {
        if (poller != nullptr) poller->disarm();
    }
}

void EventLoop::wait_descriptors(int timeout_ms) {
    std::array<epoll_event, 64> events{};
    const int count =
        epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), timeout_ms);
    for (int i = 0; i < count; ++i) {
        // A callback may have removed a later descriptor of this batch: look each one up again, and
        // hold the callback while it runs, since it may remove itself.
        const auto entry = watched_.find(events[static_cast<size_t>(i)].data.fd);
        if (entry == watched_.end()) continue;
        const auto callback = entry->second;
        (*callback)(events[static_cast<size_t>(i)].events);
    }
}

int EventLoop::sleep_limit_ms() const {
    if (stopping_ || !deferred_.empty()) return 0;
    if (timers_.empty()) return -1;
    const Duration left = timers_.begin()->first - now();
    if (left <= Duration::zero()) return 0;
    const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(left).count();
    return static_cast<int>(std::min<int64_t>(milliseconds, 3'600'000));
}

}  // namespace pace::base
