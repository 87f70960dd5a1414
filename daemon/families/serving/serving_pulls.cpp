// Serving: what workers ask for of the model, and how their requests end.
#include <algorithm>
#include <utility>

#include "base/training_events.h"
#include "daemon/control/controller.h"
#include "daemon/families/serving/serving.h"
#include "daemon/members/alike.h"
#include "daemon/members/model_range.h"

namespace pace::daemon {

using base::ErrorKind;
using protocol::Outcome;
using protocol::Verb;

namespace {

constexpr const char* kCanceled = "canceled before it had begun";
// A guess: the time that daemons, and the trainers' sessions, take to come back.
constexpr base::Duration kRootWait = std::chrono::seconds(5);
// A node that lets others wait for so long may not be there any more.
constexpr base::Duration kSuspicious = std::chrono::milliseconds(100);

}  // namespace

void Serving::pull(const WorkerPtr& worker) {
    joining_.erase(worker->rank);
    if (auto refused = refused_pull(*worker)) {
        job_.end_head(worker, std::move(*refused));
        return;
    }
    begin_pull(worker);
}

// How the worker's first request, a pull, ends at once; none: the model is asked for.
std::optional<Ending> Serving::refused_pull(const Worker& worker) const {
    const Request& request = worker.head();
    // A pull for a step that the model has not seen: the trainer has not heard that the model went
    // back.
    const uint64_t next = next_clock(worker.rank);
    const bool is_ahead = request.iteration > next;
    if (no_room_) return failed(*no_room_);
    if (lost_) return ended_as(Outcome::stale, kLost);
    if (is_ahead && rolled_back_.contains(worker.rank)) return ended_as(Outcome::stale, kRestored);
    if (is_ahead && unaware_.contains(worker.rank)) return ended_as(Outcome::stale, kBeganAnew);
    if (has_view() && request.iteration > next + 1)
        return failed(base::make_error(
            ErrorKind::invalid,
            "clock is {}, but this worker's next update is of its step {}: pull for that one, or "
            "for the one after it",
            request.iteration, next));
    return std::nullopt;
}

bool Serving::join(const WorkerPtr& worker) {
    if (const auto fits = check_range(worker->head(), job_.options.elements); !fits) {
        job_.end_head(worker, failed(fits.error()));
        return false;
    }
    joining_.insert(worker->rank);
    worker->state = Worker::State::pulling;
    return true;
}

bool Serving::leave_pull(Worker& worker) {
    if (worker.state != Worker::State::pulling || worker.head().verb != Verb::broadcast)
        return false;
    joining_.erase(worker.rank);
    pulls_.forget(worker.rank);
    worker.state = Worker::State::waiting;
    return true;
}

bool Serving::awaits_root(const Worker& worker) const {
    const Request& request = worker.head();
    if (!lost_ || request.verb != Verb::broadcast || job_.view.contains(request.root)) return false;
    const uint64_t waited_ns = base::now_ns() - request.submitted_ns;
    return std::chrono::nanoseconds(waited_ns) < kRootWait;
}

std::vector<NodeId> Serving::look_again(base::TimePoint now) {
    const auto workers = job_.workers;
    for (const auto& [rank, worker] : workers) {
        const bool holds = worker->state == Worker::State::pulling && lost_ &&
                           worker->head().verb == Verb::broadcast && job_.view.contains(rank);
        if (!holds || awaits_root(*worker)) continue;
        worker->state = Worker::State::idle;
        job_.port->advance(worker);
    }
    return watch_letters(now);
}

std::vector<NodeId> Serving::watch_letters(base::TimePoint now) {
    std::vector<NodeId> waits_for;
    bool moving = false;
    for (const ServerMail::Overdue& overdue : mail_.overdue(now, kSuspicious)) {
        waits_for.push_back(overdue.node);
        moving = moving || overdue.moving;
        if (!overdue.moving && overdue.silent >= job_.services.options.answer_wait)
            want_view(job_.services.peers.name(overdue.node) + " does not answer", overdue.silent);
    }
    if (!host_.awaited_round() || moving) {
        awaits_model_since_.reset();
    } else if (!awaits_model_since_) {
        awaits_model_since_ = now;
    } else if (now - *awaits_model_since_ >= job_.services.options.answer_wait) {
        want_view("the model of a pace_broadcast does not come", now - *awaits_model_since_);
    }
    return waits_for;
}

// In another view, all nodes say again what has not been answered.
void Serving::want_view(const std::string& reason, base::Duration silent) {
    if (std::exchange(job_.wants_view, true)) return;
    base::log_event(base::events::kLettersLate,
                    {{"job", job_.options.name},
                     {"reason", reason},
                     {"silent_ms", silent / std::chrono::milliseconds(1)}});
}

void Serving::begin_pull(const WorkerPtr& worker) {
    if (const auto fits = check_range(worker->head(), job_.options.elements); !fits) {
        job_.end_head(worker, failed(fits.error()));
        return;
    }
    rolled_back_.erase(worker->rank);
    worker->state = Worker::State::pulling;
    if (has_view() && job_.view.contains(worker->rank)) ask(worker);
}

bool Serving::joins(const Worker& worker) const {
    return worker.head().verb == Verb::broadcast || joining_.contains(worker.rank);
}

// A worker that joins may go on at its step, after its daemon has died: then it waits as ever for
// those that are behind. A later step counts as that of its next update.
void Serving::ask(const WorkerPtr& worker) {
    const uint64_t next = next_clock(worker->rank);
    const Request& request = worker->head();
    const uint64_t step = request.verb == Verb::broadcast ? 0 : request.iteration;
    pulls_.ask(worker, joins(*worker) ? std::min(step, next) : step, next);
}

// Whether a worker that joins has a pull for a step that the model has not seen: its daemon was
// away, and the model has gone back.
bool Serving::has_fallen_behind(const Worker& worker) const {
    const Request& request = worker.head();
    return request.verb == Verb::pull && joining_.contains(worker.rank) &&
           pushes_.knows(worker.rank) && request.iteration > next_clock(worker.rank);
}

// Requests from before there was a view have not been compared with the worker's step.
void Serving::ask_if_fits(const WorkerPtr& worker) {
    if (has_fallen_behind(*worker)) {
        joining_.erase(worker->rank);
        rolled_back_.insert(worker->rank);
        learn_step(*worker);
        job_.end_head(worker, ended_as(Outcome::stale, kRestored));
        return;
    }
    auto refused = joins(*worker) ? std::nullopt : refused_pull(*worker);
    if (refused) {
        job_.end_head(worker, std::move(*refused));
    } else {
        ask(worker);
    }
}

// Includes pushes of the worker that are not taken yet.
uint64_t Serving::next_clock(control::Rank rank) const {
    const auto requests = waiting_.find(rank);
    const bool waits = requests != waiting_.end() && !requests->second.empty();
    if (waits) return requests->second.back().iteration + 1;
    const auto taking = taking_.find(rank);
    return taking != taking_.end() ? taking->second->iteration + 1 : pushes_.next_clock(rank);
}

void Serving::pulled(const WorkerPtr& worker, uint64_t position, uint64_t slowest) {
    const Request& request = worker->head();
    joining_.erase(worker->rank);
    unaware_.erase(worker->rank);
    learn_step(*worker);
    Ending ending;
    ending.iteration = worker->iteration;
    ending.group = position;
    ending.slowest_clock = slowest;
    ending.queued_ns = base::now_ns() - request.submitted_ns;
    ending.nodes = static_cast<uint32_t>(host_.places().size());
    note_model(*worker);
    job_.end_head(worker, std::move(ending));
}

void Serving::withdraw(const WorkerPtr& worker) {
    if (pulls_.is_writing(worker->rank)) return;
    if (pulls_.asks(worker->rank)) {
        job_.services.control->send(control::Withdraw{job_.id, worker->rank});
        return;
    }
    // There is no view yet.
    job_.end_head(worker, ended_as(Outcome::canceled, kCanceled));
}

void Serving::withdrawn(control::Rank rank) {
    const WorkerPtr worker = job_.find(rank);
    if (!worker || !pulls_.asks(rank) || pulls_.is_writing(rank)) return;
    pulls_.forget(rank);
    job_.end_head(worker, ended_as(Outcome::canceled, kCanceled));
}

}  // namespace pace::daemon
