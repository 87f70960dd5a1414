#include "daemon/families/serving/pull_calls.h"

#include <algorithm>
#include <utility>

#include "daemon/control/controller.h"
#include "daemon/members/alike.h"
#include "daemon/members/model_range.h"
#include "daemon/members/wait.h"

namespace pace::daemon {

using base::ErrorKind;
using protocol::Outcome;
using protocol::Verb;

namespace {

constexpr const char* kCanceled = "canceled before it had begun";

}  // namespace

void PullCalls::pull(const WorkerPtr& worker) {
    joining_.erase(worker->rank);
    if (auto ending = refused(*worker)) {
        job_.end_head(worker, std::move(*ending));
        return;
    }
    begin_pull(worker);
}

// How the worker's first request, a pull, ends at once; none: the model is asked for.
std::optional<Ending> PullCalls::refused(const Worker& worker) const {
    const Request& request = worker.head();
    // A pull for a step that the model has not seen: the trainer has not heard that the model went
    // back.
    const uint64_t next = queue_.next_clock(worker.rank);
    if (auto ending = standings_.pull_refusal(worker, request.iteration > next)) return ending;
    if (standings_.has_view() && request.iteration > next + 1)
        return failed(base::make_error(
            ErrorKind::invalid,
            "clock is {}, but this worker's next update is of its step {}: pull for that one, or "
            "for the one after it",
            request.iteration, next));
    return std::nullopt;
}

bool PullCalls::join(const WorkerPtr& worker) {
    if (const auto fits = check_range(worker->head(), job_.options.elements); !fits) {
        job_.end_head(worker, failed(fits.error()));
        return false;
    }
    joining_.insert(worker->rank);
    worker->state = Worker::State::pulling;
    return true;
}

bool PullCalls::leave_pull(Worker& worker) {
    if (worker.state != Worker::State::pulling || worker.head().verb != Verb::broadcast)
        return false;
    forget(worker.rank);
    worker.state = Worker::State::waiting;
    return true;
}

bool PullCalls::awaits_root(const Worker& worker) const {
    const Request& request = worker.head();
    return standings_.is_lost() && job_.lacks_root(request) &&
           JobState::left_for_root(request) > base::Duration{};
}

void PullCalls::look_again() {
    const auto workers = job_.workers;
    for (const auto& [rank, worker] : workers) {
        const bool holds = worker->state == Worker::State::pulling && standings_.is_lost() &&
                           worker->head().verb == Verb::broadcast && job_.view.contains(rank);
        if (holds && !awaits_root(*worker)) begin_again(worker);
    }
}

// From now on the request waits for a round.
void PullCalls::begin_again(const WorkerPtr& worker) {
    worker->state = Worker::State::idle;
    job_.port->advance(worker);
}

void PullCalls::begin_pull(const WorkerPtr& worker) {
    if (const auto fits = check_range(worker->head(), job_.options.elements); !fits) {
        job_.end_head(worker, failed(fits.error()));
        return;
    }
    standings_.asked(worker->rank);
    worker->state = Worker::State::pulling;
    if (standings_.has_view() && job_.view.contains(worker->rank)) ask(worker);
}

bool PullCalls::joins(const Worker& worker) const {
    return worker.head().verb == Verb::broadcast || joining_.contains(worker.rank);
}

// A worker that joins may go on at its step, after its daemon has died: then it waits as ever for
// those that are behind. A later step counts as that of its next update.
void PullCalls::ask(const WorkerPtr& worker) {
    const uint64_t next = queue_.next_clock(worker->rank);
    const Request& request = worker->head();
    const uint64_t step = request.verb == Verb::broadcast ? 0 : request.iteration;
    pulls_.ask(worker, joins(*worker) ? std::min(step, next) : step, next);
}

// Whether a worker that joins has a pull for a step that the model has not seen: its daemon was
// away, and the model has gone back.
bool PullCalls::has_fallen_behind(const Worker& worker) const {
    const Request& request = worker.head();
    return request.verb == Verb::pull && joining_.contains(worker.rank) &&
           pushes_.knows(worker.rank) && request.iteration > queue_.next_clock(worker.rank);
}

// Requests from before there was a view have not been compared with the worker's step.
void PullCalls::ask_if_fits(const WorkerPtr& worker) {
    if (has_fallen_behind(*worker)) {
        joining_.erase(worker->rank);
        standings_.roll_back(worker->rank);
        pushes_.set_step(*worker);
        job_.end_head(worker, ended_as(Outcome::stale, Standings::kRestored));
        return;
    }
    auto ending = joins(*worker) ? std::nullopt : refused(*worker);
    if (ending) {
        job_.end_head(worker, std::move(*ending));
    } else {
        ask(worker);
    }
}

void PullCalls::update_is_gone(const WorkerPtr& worker) {
    if (pulls_.asks(worker->rank) && !pulls_.is_writing(worker->rank)) ask(worker);
}

void PullCalls::resume(const WorkerPtr& worker) {
    if (worker->state != Worker::State::pulling) return;
    if (!standings_.is_lost()) {
        if (!pulls_.asks(worker->rank)) ask_if_fits(worker);
        return;
    }
    // The worker has the model nearly whole, which is better than half.
    if (pulls_.is_writing(worker->rank)) return;
    pulls_.forget(worker->rank);
    if (worker->head().verb != Verb::broadcast)
        job_.end_head(worker, ended_as(Outcome::stale, Standings::kLost));
    else if (!awaits_root(*worker))
        begin_again(worker);
}

// The trainer of a worker that goes on in spite of the checkpoint need not be told. A pull for a
// later step is an exception: its trainer knew another model.
bool PullCalls::goes_on_restored(const WorkerPtr& worker, bool first) {
    const control::Rank rank = worker->rank;
    pulls_.forget(rank);
    if (worker->state != Worker::State::pulling) return false;
    const bool knows = first && worker->head().iteration <= pushes_.next_clock(rank);
    const bool goes_on = (joins(*worker) && !has_fallen_behind(*worker)) || knows;
    if (!goes_on) return false;
    standings_.asked(rank);
    ask(worker);
    return true;
}

void PullCalls::model_is_there() {
    for (const auto& [rank, worker] : job_.workers)
        if (worker->state == Worker::State::pulling && job_.view.contains(rank) &&
            !pulls_.asks(rank))
            ask_if_fits(worker);
}

void PullCalls::pulled(const WorkerPtr& worker, uint64_t position, uint64_t slowest) {
    const Request& request = worker->head();
    joining_.erase(worker->rank);
    standings_.got_model(worker->rank);
    pushes_.set_step(*worker);
    Ending ending;
    ending.iteration = worker->iteration;
    ending.group = position;
    ending.slowest_clock = slowest;
    ending.queued_ns = base::now_ns() - request.submitted_ns;
    ending.nodes = static_cast<uint32_t>(host_.places().size());
    note_model(*worker);
    job_.end_head(worker, std::move(ending));
}

void PullCalls::withdraw(const WorkerPtr& worker) {
    if (pulls_.is_writing(worker->rank)) return;
    if (pulls_.asks(worker->rank)) {
        job_.services.control.send(control::Withdraw{job_.id, worker->rank});
        return;
    }
    // There is no view yet.
    job_.end_head(worker, ended_as(Outcome::canceled, kCanceled));
}

void PullCalls::withdrawn(control::Rank rank) {
    const WorkerPtr worker = job_.find(rank);
    if (!worker || !pulls_.asks(rank) || pulls_.is_writing(rank)) return;
    pulls_.forget(rank);
    job_.end_head(worker, ended_as(Outcome::canceled, kCanceled));
}

void PullCalls::forget(control::Rank rank) {
    pulls_.forget(rank);
    joining_.erase(rank);
}

// The workers that hold back a pull of this clock, in words; empty: none. Follows the controller's
// rules (service/controller/core/serving/server.cpp), as far as this node has heard the order.
std::string PullCalls::slow_workers(uint64_t clock) const {
    constexpr size_t kNamed = 8;
    const control::JobOptions& options = job_.options;
    if (options.policy == control::Policy::asp) return {};
    const uint64_t staleness = options.policy == control::Policy::ssp ? options.staleness : 0;
    std::string text;
    size_t slow = 0;
    for (const auto& [rank, worker] : host_.ledger().workers) {
        if (!job_.view.contains(rank) || worker.clock + staleness >= clock) continue;
        if (++slow > kNamed) continue;
        const NodeId node = job_.view.node_of(rank);
        text +=
            fmt::format("{}worker {} on {}, which is at step {}", slow == 1 ? "" : ", ", rank,
                        node == job_.services.self ? "this node" : job_.services.peers.name(node),
                        worker.clock);
    }
    if (slow > kNamed) text += fmt::format(", and {} more", slow - kNamed);
    if (slow == 0) return text;
    return fmt::format("{} (a pull for step {} waits for all to have come to step {})", text, clock,
                       clock - std::min(clock, staleness));
}

std::string PullCalls::awaited(const Worker& worker) const {
    const Request& request = worker.head();
    if (awaits_root(worker)) return JobState::root_to_come(request);
    if (standings_.is_lost()) return "a pace_broadcast of all, which gives the job a model";
    if (!standings_.has_view()) return "a view of the job in which nodes keep its model";
    if (pulls_.is_writing(worker.rank)) return "the model to be written to its buffers";
    if (host_.awaited_round()) return "the model of a pace_broadcast to come to this node";
    if (!pulls_.asks(worker.rank)) return "its place among those who pull";
    const uint64_t own = queue_.next_clock(worker.rank);
    if (!host_.has_ordered(worker.rank, own == 0 ? 0 : own - 1) && own != 0)
        return "its own pushes, which wait for " + queue_.awaited_by_updates(worker.rank);
    if (std::string slow = slow_workers(joins(worker) ? 0 : request.iteration); !slow.empty())
        return slow;
    if (!job_.services.control.attached()) return kNoController;
    std::set<NodeId> places(host_.places().begin(), host_.places().end());
    places.erase(job_.services.self);
    if (places.empty()) return "the model, which is kept on this node";
    return "the model, from " + job_.services.peers.names({places.begin(), places.end()});
}

}  // namespace pace::daemon
