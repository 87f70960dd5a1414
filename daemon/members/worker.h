// Worker: one rank of a job on this node, and its requests in order. Only the first request is ever
// under way.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "daemon/control/messages.h"
#include "daemon/members/call_times.h"
#include "daemon/members/request.h"
#include "daemon/members/worker_port.h"

namespace pace::daemon {

class Exchange;

struct Worker {
    // What the first request of the queue is doing.
    enum class State : uint8_t {
        idle,     // there is none
        waiting,  // waits for the round that all members run
        // Waits for its group: the controller has its ready signal, or its static group is not
        // complete.
        ready,
        moving,    // in an exchange
        adopting,  // a newcomer's broadcast: waits for a healthy worker's model
        taking,    // the model has come, and is being copied to the buffers
        refused,   // about to end as stale; nothing more happens to it
        pulling,   // waits for a parameter server's model, or for a place in the job first
    };

    control::Rank rank = 0;
    uint32_t uid = 0;
    WorkerPort* port = nullptr;  // null once the trainer is gone
    State state = State::idle;
    std::deque<Request> queue;
    uint64_t iteration = 0;
    uint64_t calls = 0;  // so far

    std::optional<base::Error>
        refusal;             // the controller does not know the worker any more: why its calls fail
    bool is_new = false;     // opened, and in no view since
    bool newcomer = false;   // not in the view: joined, or came back, while the job was under way
    bool suspended = false;  // was late or frozen; its model is old
    bool unaware = false;    // its session had rounds of an earlier job, and has not been told
    uint64_t rounds_told_untrusted =
        0;                    // as its session says: those that it had before this daemon
    bool admit_sent = false;  // the controller was asked to take the newcomer in
    // This newcomer was told that it lacks rounds and that nobody can give it a model. It makes its
    // next call with its own model.
    bool accepts_own = false;
    // It did not wait for the model for which it was admitted, or is about to be.
    bool lacks_model = false;
    bool may_inherit = true;  // buffers of a dead worker of its rank; until its first request
    bool resuming = false;    // announced again, not accepted yet
    bool handed_in = false;   // the gradient of its first request was taken (partial rounds)
    // What the worker was to make ready for its first request does not come. It is in no group
    // until all is made.
    bool lagging = false;
    // Its first request was canceled while ready; an order may come first.
    bool withdrawing = false;

    // The worker's next average, as it has announced.
    struct Announced {
        uint64_t iteration = 0;
        uint32_t digest = 0;
        base::TimePoint since;
    };
    std::optional<Announced> announced;
    std::optional<uint32_t> average_digest;  // of its latest average

    // Static groups: how many averages the worker has begun in this view, and the latest one's
    // view.
    uint64_t turn = 0;
    uint64_t turn_epoch = 0;

    // What its trainer told last, for people who watch.
    struct Progress {
        std::optional<double> loss;
        double samples_per_s = 0;  // 0: not told
        // Steps that it has made and is to make in all, and when it told so.
        struct Steps {
            uint64_t done = 0;
            uint64_t total = 0;  // 0: not told
            base::TimePoint told{};
        };
        Steps steps{};
    };
    Progress progress;

    std::vector<BufferPtr> model;  // buffers of its latest broadcast, which a newcomer is given
    // The trainer's model has the results of rounds that these buffers lack: they are copies, and
    // the calls for the rounds have not named them.
    bool model_is_old = false;
    base::TimePoint busy_since = base::now();  // since when it has had no request in flight
    base::Duration computed{};                 // total time without one before its requests
    uint64_t moving_since_ns = 0;
    CallTimes times{busy_since};
    std::weak_ptr<const Exchange> exchange;  // the exchange that it is in, or was last in

    const Request& head() const { return queue.front(); }
    // The worker has called, after a step of its own.
    void stop_computing(base::TimePoint now) {
        computed += now - busy_since;
        busy_since = now;
    }
    // The worker has no call in flight any more.
    void begin_computing(base::TimePoint now) {
        busy_since = now;
        times.end(now);
    }
    // The worker's first request moves from now on.
    void begin_moving(uint64_t now_ns) {
        state = State::moving;
        moving_since_ns = now_ns;
        times.begin_exchange(base::TimePoint(std::chrono::nanoseconds(now_ns)));
    }
    // How long its first request, which moves or has moved, waited before.
    uint64_t queued_ns() const {
        return moving_since_ns - std::min(head().submitted_ns, moving_since_ns);
    }
    // The worker has no place in the view, or none with a model: it makes its next broadcast as a
    // newcomer, and other calls for all members end as stale.
    void lose_place() {
        newcomer = true;
        suspended = true;
        admit_sent = false;
    }
    // The worker's exchange has not come about.
    void wait_again(State as) {
        state = as;
        times.wait_again(base::now());
    }
    // It has a model that a newcomer can be given.
    bool can_give_model() const {
        return state != State::adopting && state != State::taking && !lacks_model &&
               !model_is_old && (!model.empty() || average_digest.has_value());
    }
    // Whether the worker is in the view with a model: no newcomer, nor waiting for its model.
    bool has_model() const {
        return !newcomer && !lacks_model && state != State::adopting && state != State::taking;
    }
};

using WorkerPtr = std::shared_ptr<Worker>;

}  // namespace pace::daemon
