// Timer: a callback that an event loop calls once, when it is due. The code that starts a timer
// owns the Timer. Once the Timer is destroyed, canceled or replaced, the callback is not called any
// more. A callback therefore need not check that the objects it touches still live.
//
// TimerQueue: the timers of a loop, in the order in which they are due. Timers may outlive the
// queue.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/clock.h"

namespace pace::base {

class TimerQueue;

class [[nodiscard]] Timer {
  public:
    Timer() = default;
    Timer(Timer&& other) noexcept = default;
    Timer& operator=(Timer&& other) noexcept {
        if (this == &other) return *this;
        cancel();
        queue_ = std::move(other.queue_);
        id_ = other.id_;
        return *this;
    }
    Timer(const Timer&) = delete;
    Timer& operator=(const Timer&) = delete;
    ~Timer() { cancel(); }

    void cancel();
    // Returns whether the callback is still to be called. A timer whose callback runs now is not
    // pending.
    bool pending() const;

  private:
    friend class TimerQueue;
    Timer(std::weak_ptr<TimerQueue> queue, uint64_t id) : queue_(std::move(queue)), id_(id) {}

    std::weak_ptr<TimerQueue> queue_;
    uint64_t id_ = 0;
};

class TimerQueue : public std::enable_shared_from_this<TimerQueue> {
  public:
    Timer add(TimePoint when, std::function<void()> callback);
    // Calls the callbacks that are due at `time`, and those that become due meanwhile. Returns true
    // if any was called.
    bool run(TimePoint time);
    // When the first timer is due. Empty if there is no timer.
    std::optional<TimePoint> next() const;

  private:
    friend class Timer;
    void cancel(uint64_t id);

    std::multimap<TimePoint, std::pair<uint64_t, std::function<void()>>> timers_;
    std::unordered_map<uint64_t, TimePoint> times_;
    uint64_t next_id_ = 1;
};

}  // namespace pace::base
