#include "base/loop/timer.h"

namespace pace::base {

void Timer::cancel() {
    if (const auto queue = queue_.lock()) queue->cancel(id_);
    queue_.reset();
}

bool Timer::pending() const {
    const auto queue = queue_.lock();
    return queue && queue->times_.contains(id_);
}

Timer TimerQueue::add(TimePoint when, std::function<void()> callback) {
    const uint64_t id = next_id_++;
    timers_.emplace(when, std::pair(id, std::move(callback)));
    times_.emplace(id, when);
    return Timer(weak_from_this(), id);
}

void TimerQueue::cancel(uint64_t id) {
    const auto time = times_.find(id);
    if (time == times_.end()) return;
    const auto [begin, end] = timers_.equal_range(time->second);
    for (auto timer = begin; timer != end; ++timer) {
        if (timer->second.first != id) continue;
        // The callback is destroyed after the entry was extracted: its destruction may cancel other
        // timers.
        const auto canceled = timers_.extract(timer);
        times_.erase(time);
        return;
    }
}

bool TimerQueue::run(TimePoint time) {
    bool ran = false;
    while (!timers_.empty() && timers_.begin()->first <= time) {
        const auto due = timers_.extract(timers_.begin());
        times_.erase(due.mapped().first);
        due.mapped().second();
        ran = true;
    }
    return ran;
}

std::optional<TimePoint> TimerQueue::next() const {
    if (timers_.empty()) return std::nullopt;
    return timers_.begin()->first;
}

}  // namespace pace::base
