// EventLoop: one thread that waits for descriptors, timers and pollers, and calls back.
//
// Two kinds of sources. A *descriptor* is watched by epoll. A *poller* is something with state in
// memory that is cheaper to look at than to be woken for (a shared-memory ring, a UCX worker, a
// ZeroMQ socket): the loop polls it every turn, keeps polling for a short adaptive time after work
// was found, and only then asks it to arm its descriptor and sleeps. A callback may add and remove
// any source, itself included.
//
// Everything but post() and stop() belongs to the loop's thread. Callbacks must not block.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace pace::base {

class Poller {
  public:
    virtual ~Poller() = default;

    // Does the work that is there, without blocking. True if there was any.
    virtual bool poll() = 0;

    // Called before the loop sleeps: from now on new work must make a watched descriptor readable.
    // False if work arrived meanwhile, so that the loop does not sleep.
    virtual bool arm() = 0;

    // Called after a sleep for which arm() was called.
    virtual void disarm() {}
};

class EventLoop {
  public:
    using TimerId = uint64_t;

    // `spin` bounds how long the loop polls without work before it sleeps; it yields the processor
    // between looks. 0 never spins.
    static Result<std::unique_ptr<EventLoop>> create(Duration spin = Duration::zero());
    ~EventLoop();
    EventLoop(const EventLoop&) = delete;
    EventLoop& operator=(const EventLoop&) = delete;

    // Calls `callback(epoll events)` while `fd` is ready for `events` (EPOLLIN, …;
    // level-triggered).
    Result<> watch(int fd, uint32_t events, std::function<void(uint32_t)> callback);
    void unwatch(int fd);

    // Calls `callback` once, not before `when`. Returns an id for cancel_timer, never 0.
    TimerId run_at(TimePoint when, std::function<void()> callback);
    TimerId run_after(Duration delay, std::function<void()> callback) {
        return run_at(now() + delay, std::move(callback));
    }
    void cancel_timer(TimerId id);

    // Calls `callback` later in this turn, after the current callback has returned.
    void defer(std::function<void()> callback);

    // Thread-safe: calls `callback` in the loop's thread.
    void post(std::function<void()> callback);

    void add_poller(Poller* poller);
    void remove_poller(Poller* poller);

    // Runs until stop().
    void run();

    // One turn: pollers, deferred calls, timers, descriptors. Sleeps if `may_sleep` and nothing is
    // due.
    void turn(bool may_sleep);

    // Thread-safe.
    void stop();

  private:
    EventLoop(UniqueFd epoll, UniqueFd wakeup, Duration spin);

    bool run_pollers();
    bool run_deferred();
    bool run_timers();
    void run_posted();
    bool arm_pollers();
    void disarm_pollers();
    void wait_descriptors(int timeout_ms);
    int sleep_limit_ms() const;

    UniqueFd epoll_;
    UniqueFd wakeup_;
    Duration spin_;
    TimePoint idle_since_{};
    bool spinning_ = false;

    std::unordered_map<int, std::shared_ptr<std::function<void(uint32_t)>>> watched_;
    std::multimap<TimePoint, std::pair<TimerId, std::function<void()>>> timers_;
    std::unordered_map<TimerId, TimePoint> timer_times_;
    TimerId next_timer_ = 1;
    std::vector<std::function<void()>> deferred_;
    std::vector<Poller*> pollers_;

    std::mutex posted_mutex_;
    std::vector<std::function<void()>> posted_;
    std::atomic<bool> stopping_{false};
};

}  // namespace pace::base
