// EventLoop: one thread that waits for descriptors, timers and pollers, and calls back.
//
// Two kinds of sources. A *descriptor* is watched by epoll. A *poller* is something with state in
// memory that is cheaper to look at than to be woken for (a shared-memory ring, a UCX worker, a
// ZeroMQ socket): the loop polls it every turn, keeps polling for a short adaptive time after work
// was found, and only then asks it to arm its descriptor and sleeps. A callback may add and remove
// any source, itself included.
//
// Everything but post() and stop() belongs to the loop's thread. Callbacks must not block: how long they take is measured, and
// which took longest is known by where it was registered (loop_watch.h).
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/attempt.h"
#include "base/clock.h"
#include "base/loop_watch.h"
#include "base/result.h"
#include "base/scope.h"
#include "base/timer.h"
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
    // `spin` bounds how long the loop polls without work before it sleeps; it yields the processor
    // between looks. 0 never spins.
    static Result<std::unique_ptr<EventLoop>> create(Duration spin = Duration::zero());
    ~EventLoop();
    EventLoop(const EventLoop&) = delete;
    EventLoop& operator=(const EventLoop&) = delete;

    // Calls `callback(epoll events)` while `fd` is ready for `events` (EPOLLIN, …;
    // level-triggered).
    Result<> watch(int fd, uint32_t events, std::function<void(uint32_t)> callback,
                   Origin origin = Origin::here());
    void unwatch(int fd);

    // Calls `callback` once, not before `when`, if the Timer still lives then.
    Timer run_at(TimePoint when, std::function<void()> callback, Origin origin = Origin::here()) {
        return timers_->add(
            when, [this, origin, callback = std::move(callback)] { measured(origin, callback); });
    }
    Timer run_after(Duration delay, std::function<void()> callback,
                    Origin origin = Origin::here()) {
        return run_at(now() + delay, std::move(callback), origin);
    }

    // Calls `callback` later in this turn, after the current callback has returned.
    void defer(Callback callback, Origin origin = Origin::here());

    // Thread-safe: calls `callback` in the loop's thread.
    void post(Callback callback, Origin origin = Origin::here());

    // For threads that work for somebody and call back in the loop's thread. What they call back with lives by other means: it is bound
    // to a Scope, or it is a coroutine's that waits for it. Thread-safe.
    using Poster = std::function<void(std::function<void()>)>;
    Poster poster(Origin origin = Origin::here()) {
        return [this, origin](std::function<void()> callback) {
            post_bound(std::move(callback), origin);
        };
    }

    // What is done about a callback for which there was no memory, at the begin of the next turn. It may have been anybody's,
    // half done: whoever calls back for one client or job catches that before (base/attempt.h). Without a handler it is
    // forgotten.
    void when_out_of_memory(std::function<void()> handler) { out_of_memory_ = std::move(handler); }

    void add_poller(Poller* poller, Origin origin = Origin::here());
    void remove_poller(Poller* poller);

    // Runs until stop().
    void run();

    // One turn: pollers, deferred calls, timers, descriptors. Sleeps if `may_sleep` and nothing is
    // due.
    void turn(bool may_sleep);

    // Calls what was deferred and posted, and what that defers, up to the deadline; nothing else.
    void settle(TimePoint deadline);

    // Thread-safe.
    void stop();

    // What the callbacks have taken.
    LoopWatch& watch_of_steps() { return steps_; }
    const LoopWatch& watch_of_steps() const { return steps_; }

  private:
    // Callbacks, and where they come from.
    struct Deferred {
        Callback run;
        Origin origin;
    };
    struct Posted {
        std::function<void()> run;
        Origin origin;
    };
    struct Watched {
        std::function<void(uint32_t)> run;
        Origin origin;
    };
    struct Polled {
        Poller* poller = nullptr;
        Origin origin;
    };

    EventLoop(UniqueFd epoll, UniqueFd wakeup, Duration spin);

    template <typename Function>
    void call(const Function& function) {
        if (!attempt(function)) was_out_of_memory_ = true;
    }
    // What is measured by itself within a step, what was posted for one, is not the step's.
    template <typename Step>
    void measured(Origin origin, const Step& step) {
        const Duration outer = std::exchange(within_, Duration::zero());
        const TimePoint began = now();
        steps_.begins(began);
        call(step);
        const TimePoint end = now();
        steps_.ended(began + within_, end, origin);
        within_ = outer + (end - began);
    }
    bool run_pollers();
    bool run_deferred();
    bool run_posted();
    bool arm_pollers();
    void disarm_pollers();
    void wait_descriptors(int timeout_ms);
    int sleep_limit_ms() const;
    void post_bound(std::function<void()> callback, Origin origin);

    UniqueFd epoll_;
    UniqueFd wakeup_;
    Duration spin_;
    TimePoint idle_since_{};
    bool spinning_ = false;

    std::unordered_map<int, std::shared_ptr<Watched>> watched_;
    std::shared_ptr<TimerQueue> timers_ = std::make_shared<TimerQueue>();
    std::vector<Deferred> deferred_;
    std::vector<Polled> pollers_;
    std::function<void()> out_of_memory_;
    bool was_out_of_memory_ = false;
    LoopWatch steps_;
    Duration within_{};  // the step at hand: of steps that were measured by themselves

    std::mutex posted_mutex_;
    std::vector<Posted> posted_;
    std::atomic<bool> stopping_{false};
};

}  // namespace pace::base
