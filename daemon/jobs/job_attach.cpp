// Job: what the controller hears of this node's workers, and what becomes of them when the daemon
// is attached anew.
#include <algorithm>

#include "base/attempt.h"
#include "base/log/training_events.h"
#include "daemon/control/controller.h"
#include "daemon/jobs/job.h"

namespace pace::daemon {

using base::ErrorKind;
using protocol::Outcome;
using protocol::Verb;

namespace {

constexpr const char* kWentOn =
    "the cluster went on without this node; call pace_broadcast for the current model";

}  // namespace

control::WorkerJoin Job::announcement(const Worker& worker) const {
    control::WorkerJoin join;
    join.rank = worker.rank;
    join.options = state_.options;
    join.uid = worker.uid;
    join.job = state_.id;
    join.run = state_.run;
    join.resume = true;
    join.iteration = worker.iteration;
    join.rounds_completed = rounds_.completed();
    // This daemon may know less of the job than its newcomer.
    if (worker.newcomer)
        join.rounds_completed = std::max(join.rounds_completed, worker.rounds_told_untrusted);
    // A worker that still waits for a model is no member to go on with: a controller that has
    // forgotten its donor names another.
    join.epoch = worker.has_model() ? state_.view.epoch : 0;
    join.is_new = worker.is_new;
    return join;
}

void Job::resumed(const WorkerPtr& worker, bool under_way) {
    worker->resuming = false;
    worker->refusal.reset();
    worker->admit_sent = false;
    if (worker->newcomer && !under_way) return begin_as_first(worker);
    const bool was_member = worker->has_model();
    worker->newcomer = worker->newcomer || under_way;
    if (under_way && was_member) leave_behind(worker);
    go_on(worker);
}

// The controller knows of nobody who can give this newcomer a model: its journal is lost, and no
// member has come back yet, or none is left. The newcomer is one of the job's first workers, whose
// broadcasts are one round. Should a member come back, the controller suspends the newcomer.
void Job::begin_as_first(const WorkerPtr& worker) {
    worker->newcomer = false;
    worker->suspended = false;
    worker->accepts_own = false;
    worker->unaware = may_have_other_rounds(*worker);
    const bool waits = worker->state == Worker::State::adopting ||
                       worker->state == Worker::State::waiting ||
                       (serving_ && serving_->leave_pull(*worker));
    if (!waits) return go_on(worker);
    worker->state = Worker::State::idle;
    advance(worker);
}

// The others went on without this worker, which was a member.
void Job::leave_behind(const WorkerPtr& worker) {
    if (state_.options.policy == control::Policy::all_reduce) {
        // A gradient of an old model must not enter the others' rounds.
        worker->suspended = true;
        rounds_.departed(*worker);
        if (worker->state == Worker::State::waiting)
            state_.end_all(worker, ended_as(Outcome::stale, kWentOn));
    }
    if (serving_) {
        // The worker's clock is another one now.
        worker->suspended = true;
        serving_->suspend(worker, kWentOn);
        if (worker->state == Worker::State::pulling && worker->head().verb != Verb::broadcast)
            state_.end_all(worker, ended_as(Outcome::stale, kWentOn));
    }
    if (worker->state != Worker::State::moving) return;
    // Nobody takes part in the worker's round any more, and nobody stops the round.
    const auto error =
        base::make_error(ErrorKind::aborted, "the cluster went on without this node");
    rounds_.stop(error);
    groups_.prepare(error);
}

// What the worker waits for is asked for again.
void Job::go_on(const WorkerPtr& worker) {
    switch (worker->state) {
        case Worker::State::idle:
            if (!worker->queue.empty()) {
                advance(worker);
            } else {
                groups_.announce_again(*worker);
            }
            break;
        case Worker::State::ready:
            if (worker->newcomer) admit(worker, false);
            groups_.called(worker);
            break;
        case Worker::State::waiting:
            // The others have the model that this worker waits for.
            if (worker->newcomer && worker->head().verb == Verb::broadcast) {
                begin_newcomer(worker);
                break;
            }
            if (worker->newcomer) admit(worker, false);
            rounds_.try_start();
            break;
        case Worker::State::adopting:
            worker->newcomer = true;
            admit(worker, true);
            break;
        case Worker::State::pulling:
            if (worker->newcomer) admit(worker, false);
            break;
        case Worker::State::moving:
        case Worker::State::taking:
        case Worker::State::refused:
            break;
    }
}

void Job::run_out_of_memory() {
    const base::Error error = base::out_of_memory();
    base::log_event(base::events::kJobWithoutMemory, {{"job", state_.options.name}});
    adoptions_.stop(error);
    rounds_.stop(error);
    groups_.abort_all(error);
    if (serving_) serving_->give_up();
    state_.wants_view = true;
    const auto workers = state_.workers;
    for (const auto& [rank, worker] : workers) refuse(worker, error);
}

void Job::invalidate(const base::Error& error) {
    state_.view = {};
    state_.wants_view = false;
    adoptions_.stop(error);
    rounds_.invalidate(error);
    groups_.invalidate(error);
    if (serving_) serving_->invalidate(error);
}

namespace {

uint64_t microseconds(base::Duration time) {
    return static_cast<uint64_t>(time / std::chrono::microseconds(1));
}

uint64_t milliseconds_since(base::TimePoint since, base::TimePoint now) {
    return static_cast<uint64_t>(std::max(now - since, base::Duration{}) /
                                 std::chrono::milliseconds(1));
}

// A worker whose exchange has begun here still waits as long as nothing has come from a node that
// the exchange needs.
bool is_met(const Worker& worker) {
    const auto exchange = worker.exchange.lock();
    return !exchange || exchange->ended() || exchange->unheard().empty();
}

void report_times(const Worker& worker, base::TimePoint now, control::WorkerReport& ret_report) {
    const CallTimes& times = worker.times;
    ret_report.steps = times.steps();
    ret_report.times_called = times.times_called();
    ret_report.waited_us = microseconds(times.waited());
    ret_report.exchanged_us = microseconds(times.exchanged());
    ret_report.activity = times.activity();
    ret_report.activity_ms = milliseconds_since(times.since(), now);
    if (ret_report.activity == control::Activity::exchanging && !is_met(worker))
        ret_report.activity = control::Activity::waiting;
    if (!worker.lagging) return;
    // The worker's group goes on without it, and its trainer still makes the buffers of its call.
    ret_report.activity = control::Activity::computing;
    ret_report.activity_ms = milliseconds_since(worker.busy_since, now);
}

void report_progress(const Worker::Progress& progress, control::WorkerReport& ret_report) {
    ret_report.has_loss = progress.loss.has_value();
    ret_report.loss = progress.loss.value_or(0);
    ret_report.samples_per_s = progress.samples_per_s;
    ret_report.steps_done = progress.steps.done;
    ret_report.steps_total = progress.steps.total;
    ret_report.steps_told_us = microseconds(progress.steps.told.time_since_epoch());
}

void report_residual(const std::optional<KeptBack>& kept, control::WorkerReport& ret_report) {
    if (!kept) return;
    ret_report.has_residual = true;
    ret_report.residual_bytes = kept->bytes;
    ret_report.residual_exchanges = kept->exchanges;
}

}  // namespace

void Job::report_workers(std::vector<control::WorkerReport>& reports) const {
    const base::TimePoint now = base::now();
    for (const auto& [rank, worker] : state_.workers) {
        control::WorkerReport report;
        report.job = state_.id;
        report.rank = rank;
        report.iteration = worker->iteration;
        report.calls = worker->calls;
        report.computed_us = microseconds(worker->computed);
        const bool in_round = !worker->queue.empty() && worker->head().verb != Verb::average &&
                              !protocol::is_served(worker->head().verb);
        report.rounds_submitted = rounds_.completed() + (in_round ? 1 : 0);
        if (worker->state == Worker::State::idle || worker->lagging)
            report.busy_ms = milliseconds_since(worker->busy_since, now);
        report_times(*worker, now, report);
        report_progress(worker->progress, report);
        report_residual(rounds_.kept_back(*worker), report);
        report.stopped = worker->port != nullptr && worker->port->process_stopped();
        reports.push_back(report);
    }
}

}  // namespace pace::daemon
