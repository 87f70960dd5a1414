// EventLoop: one thread that waits for descriptors, timers and pollers, and runs their callbacks.
//
// There are two kinds of sources. A *descriptor* is watched by epoll. A *poller* has state in
// memory, and looking at that state is cheaper than being woken by it. Examples are a shared-memory
// ring, a UCX worker and a ZeroMQ socket. The loop polls each poller every turn. After the loop has
// found work, it keeps polling for a short adaptive time. After that the loop asks the poller to
// arm its descriptor, and sleeps. A callback may add and remove any source, also its own.
//
// Everything but post() and stop() belongs to the loop's thread. Callbacks must not block. The loop
// measures how long they take. loop_watch.h tells which took longest, by the place that registered
// the callback.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/attempt.h"
#include "base/clock.h"
#include "base/loop/loop_watch.h"
#include "base/loop/scope.h"
#include "base/loop/timer.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace pace::base {

class Poller {
  public:
    virtual ~Poller() = default;

    // Does the work that is there, without blocking. Returns true if there was any work.
    virtual bool poll() = 0;

    // Called before the loop sleeps. From now on new work must make a watched descriptor readable.
    // Returns false if work has arrived meanwhile; then the loop does not sleep.
    virtual bool arm() = 0;

    // Called after a sleep for which arm() was called.
    virtual void disarm() {}
};

class EventLoop {
  public:
    // `spin` bounds how long the loop polls without work before it sleeps. The loop yields the
    // processor between polls. With 0 the loop never spins.
    static Result<std::unique_ptr<EventLoop>> create(Duration spin = Duration::zero());
    ~EventLoop();
    EventLoop(const EventLoop&) = delete;
    EventLoop& operator=(const EventLoop&) = delete;

    // Calls `callback(epoll events)` while `fd` is ready for `events` (EPOLLIN, …). The watch is
    // level-triggered.
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

    // A poster is for threads that work for somebody and post callbacks to the loop's thread. The
    // caller must keep alive what the callback uses: the callback is bound to a Scope, or a waiting
    // coroutine owns it. Thread-safe.
    using Poster = std::function<void(std::function<void()>)>;
    Poster poster(Origin origin = Origin::here()) {
        return [this, origin](std::function<void()> callback) {
            post_bound(std::move(callback), origin);
        };
    }

    // Sets the handler that runs at the begin of the next turn after a callback found no memory.
    // The callback may have been anybody's, and may be half done. Code that calls back for one
    // client or one job therefore catches the failure earlier (base/attempt.h). Without a handler
    // the failure is ignored.
    void when_out_of_memory(std::function<void()> handler) { out_of_memory_ = std::move(handler); }

    void add_poller(Poller* poller, Origin origin = Origin::here());
    void remove_poller(Poller* poller);

    // Runs until stop().
    void run();

    // One turn: pollers, deferred calls, timers, descriptors. Sleeps if `may_sleep` and nothing is
    // due, but not in simulated time. False if there was nothing to do.
    bool turn(bool may_sleep);
    // When the next timer is due; none if there is no timer.
    std::optional<TimePoint> next_timer() const { return timers_->next(); }

    // Runs the deferred and the posted callbacks, and the callbacks that they defer, until the
    // deadline. Nothing else runs.
    void settle(TimePoint deadline);

    // Thread-safe.
    void stop();

    // The times that the callbacks took.
    LoopWatch& watch_of_steps() { return steps_; }
    const LoopWatch& watch_of_steps() const { return steps_; }

  private:
    // The callbacks, each with the place that registered it.
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
    // Runs a step and measures its time. A step may contain steps that are measured by themselves,
    // for example posted callbacks. Their time does not count for the outer step.
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
    bool wait_descriptors(int timeout_ms);
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
    // Time within the current step that was spent in inner, separately measured steps.
    Duration within_{};

    std::mutex posted_mutex_;
    std::vector<Posted> posted_;
    std::atomic<bool> stopping_{false};
};

}  // namespace pace::base
