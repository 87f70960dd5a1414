// Timer: a callback that an event loop calls once, when it is due. Whoever starts one owns it: once it is destroyed, canceled or replaced,
// it is not called any more. So nothing that a timer touches needs to be looked for before it is touched.
//
// TimerQueue: those of a loop, in the order in which they are due. Timers may outlive it.
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
    // Whether it is to be called still. A timer that is being called is not.
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
    // Calls what is due at `time`, and what becomes due meanwhile. True if there was anything.
    bool run(TimePoint time);
    // When the first one is due.
    std::optional<TimePoint> next() const;

  private:
    friend class Timer;
    void cancel(uint64_t id);

    std::multimap<TimePoint, std::pair<uint64_t, std::function<void()>>> timers_;
    std::unordered_map<uint64_t, TimePoint> times_;
    uint64_t next_id_ = 1;
};

}  // namespace pace::base
