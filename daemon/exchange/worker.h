// Worker: one rank of a job on this node, and its requests in order. Only the first of them is ever under way.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "daemon/control/messages.h"
#include "daemon/exchange/call_times.h"
#include "daemon/exchange/request.h"
#include "daemon/exchange/worker_port.h"

namespace pace::daemon {

class Exchange;

struct Worker {
    // What the first request of the queue is doing.
    enum class State : uint8_t {
        idle,     // there is none
        waiting,  // for the round that all members run
        ready,  // for its group: a ready signal is at the controller, or its static group is not complete
        moving,    // in an exchange
        adopting,  // a newcomer's broadcast: waits for a healthy worker's model
        taking,    // it has come, and is being copied to its buffers
        refused,   // about to end as stale; nothing more happens to it
        pulling,   // the model of a parameter server, or a place in the job to pull it in
    };

    control::Rank rank = 0;
    uint32_t uid = 0;
    WorkerPort* port = nullptr;  // null once the trainer is gone
    State state = State::idle;
    std::deque<Request> queue;
    uint64_t iteration = 0;
    uint64_t calls = 0;  // so far

    std::optional<base::Error>
        refusal;              // the controller does not know it any more: why its calls fail
    bool newcomer = false;    // not in the view: joined, or came back, while the job was under way
    bool suspended = false;   // was late or frozen; its model is old
    bool unaware = false;     // its session had rounds of an earlier job, and has not been told
    bool admit_sent = false;  // the controller was asked to take the newcomer in
    // A newcomer that was told that it lacks rounds and that nobody can give it a model: what it calls
    // next it calls with its own.
    bool accepts_own = false;
    bool may_inherit = true;  // what a dead worker of its rank has left; until its first request
    bool resuming = false;    // announced again, not accepted yet
    bool handed_in = false;   // the gradient of its first request was taken (partial rounds)
    // Its first request lets itself be waited for: what it was to make ready does not come. It is in no group until all is made.
    bool lagging = false;
    bool withdrawing = false;  // its first request was canceled while ready; an order may beat it

    // What its next average will be, as it has said beforehand.
    struct Announced {
        uint64_t iteration = 0;
        uint32_t digest = 0;
        base::TimePoint since;
    };
    std::optional<Announced> announced;
    std::optional<uint32_t> average_digest;  // of its latest average

    // Static groups: how many averages it has begun in this view, and the view of the latest.
    uint64_t turn = 0;
    uint64_t turn_epoch = 0;

    // As its trainer told last, for whoever watches.
    struct Progress {
        std::optional<double> loss;
        double samples_per_s = 0;  // 0: not told
    };
    Progress progress;

    std::vector<BufferPtr> model;  // of its latest broadcast: what a newcomer is given
    base::TimePoint busy_since =
        base::now();            // since when it has no request in flight, if it has none
    base::Duration computed{};  // so long it had none before its requests so far
    uint64_t moving_since_ns = 0;
    CallTimes times{busy_since};
    std::weak_ptr<const Exchange> exchange;  // that it is in, or was in last

    const Request& head() const { return queue.front(); }
    // It has called, after a step of its own.
    void stop_computing(base::TimePoint now) {
        computed += now - busy_since;
        busy_since = now;
    }
    // It has no call in flight any more.
    void begin_computing(base::TimePoint now) {
        busy_since = now;
        times.end(now);
    }
    // What it has called moves from now on.
    void begin_moving(uint64_t now_ns) {
        state = State::moving;
        moving_since_ns = now_ns;
        times.begin_exchange(base::TimePoint(std::chrono::nanoseconds(now_ns)));
    }
    // Its exchange has not come about.
    void wait_again(State as) {
        state = as;
        times.wait_again(base::now());
    }
    // It is in the view with a model: no newcomer, nor one that still waits for its model.
    bool has_model() const {
        return !newcomer && state != State::adopting && state != State::taking;
    }
};

using WorkerPtr = std::shared_ptr<Worker>;

}  // namespace pace::daemon
