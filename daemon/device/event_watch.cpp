#include "daemon/device/event_watch.h"

#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include "base/cuda/stream_words.h"
#include "daemon/device/device.h"

namespace pace::device {

using base::Result;
using base::TimePoint;
using namespace base::cuda;  // the driver's own names

namespace {

// One query costs about a microsecond.
constexpr base::Duration kAskAgainMin = std::chrono::microseconds(20);
constexpr base::Duration kAskAgainMax = std::chrono::milliseconds(1);
constexpr int kShareOfTheWait = 8;

}  // namespace

Result<std::unique_ptr<EventWatch>> EventWatch::create(Device& device, base::EventLoop& loop) {
    base::UniqueFd timer(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
    if (!timer.valid()) return base::make_errno_error(errno, "create a timer");
    const int fd = timer.get();
    std::unique_ptr<EventWatch> watch(new EventWatch(device, loop, std::move(timer)));
    // The timer only ends the loop's sleep; poll() queries the events.
    PACE_TRY(loop.watch(fd, EPOLLIN, [fd](uint32_t) {
        uint64_t times = 0;
        [[maybe_unused]] const ssize_t got = read(fd, &times, sizeof(times));
    }));
    return watch;
}

EventWatch::EventWatch(Device& device, base::EventLoop& loop, base::UniqueFd timer)
    : device_(device), loop_(loop), timer_(std::move(timer)) {}

EventWatch::~EventWatch() {
    forget_all();
    loop_.unwatch(timer_.get());
}

void EventWatch::add(const void* owner, CUevent event, Callback callback) {
    add(owner, {.event = event, .callback = std::move(callback)});
}

void EventWatch::add(const void* owner, const std::atomic<uint64_t>* word, uint64_t request,
                     Callback callback) {
    add(owner, {.word = word, .request = request, .callback = std::move(callback)});
}

void EventWatch::add(const void* owner, Awaited awaited) {
    const TimePoint now = base::now();
    if (lines_.empty()) loop_.add_poller(this);
    Line& line = lines_[owner];
    if (line.events.empty()) line.since = now;
    line.events.push_back(std::move(awaited));
    next_look_ = now;  // the event may have been reached long ago
}

void EventWatch::forget(const void* owner) {
    const auto found = lines_.find(owner);
    if (found == lines_.end()) return;
    const Line forgotten = std::move(found->second);
    lines_.erase(found);
    if (lines_.empty()) loop_.remove_poller(this);
}

CUresult EventWatch::state_of(const Awaited& awaited) const {
    if (awaited.word != nullptr)
        return base::cuda::has_come(*awaited.word, awaited.request) ? kSuccess : kNotReady;
    return awaited.event == nullptr ? kSuccess : device_.driver().event_query(awaited.event);
}

void EventWatch::take(Line& line, TimePoint now, std::vector<Due>& ret_due) {
    while (!line.events.empty()) {
        Awaited& first = line.events.front();
        const CUresult state = state_of(first);
        if (state == kNotReady) return;
        ret_due.push_back({std::move(first.callback), state});
        line.events.pop_front();
        line.since = now;
    }
}

// Destroying callbacks may add others, hence the loop.
void EventWatch::forget_all() {
    while (!lines_.empty()) forget(lines_.begin()->first);
}

bool EventWatch::poll() {
    const TimePoint now = base::now();
    if (now < next_look_) return false;
    std::vector<Due> due;
    {
        const ContextScope scope = device_.enter();
        for (auto& [owner, line] : lines_) take(line, now, due);
    }
    std::erase_if(lines_, [](const auto& entry) { return entry.second.events.empty(); });
    if (lines_.empty())
        loop_.remove_poller(this);
    else
        plan(now);
    for (const auto& [callback, state] : due)
        callback(state == kSuccess ? Result<>()
                                   : device_.check(state, device_.facts().id() + " failed"));
    return !due.empty();
}

// The interval follows the owner that has waited for the shortest time.
void EventWatch::plan(TimePoint now) {
    TimePoint youngest = lines_.begin()->second.since;
    for (const auto& [owner, line] : lines_) youngest = std::max(youngest, line.since);
    next_look_ = now + std::clamp((now - youngest) / kShareOfTheWait, kAskAgainMin, kAskAgainMax);
}

bool EventWatch::arm() {
    const auto left =
        std::chrono::duration_cast<std::chrono::nanoseconds>(next_look_ - base::now());
    if (left.count() <= 0) return false;
    itimerspec when{};
    when.it_value = {.tv_sec = left.count() / 1'000'000'000,
                     .tv_nsec = left.count() % 1'000'000'000};
    return timerfd_settime(timer_.get(), 0, &when, nullptr) == 0;
}

}  // namespace pace::device
