// Job: the views that the controller commits, and workers whose places in them change.
#include <algorithm>
#include <utility>

#include "daemon/control/controller.h"
#include "daemon/jobs/job.h"

namespace pace::daemon {

using base::ErrorKind;
using protocol::Outcome;
using protocol::Verb;

void Job::prepare(const control::PrepareView& view) {
    // A controller that was restarted may not know of the last views.
    const uint64_t newest = std::max(state_.view.epoch + 1, rounds_.preparing());
    if (view.epoch < newest) {
        state_.services.control.send(control::ViewPrepared{
            .job = state_.id, .epoch = view.epoch, .newer_epoch = newest - 1});
        return;
    }
    state_.token = view.token;
    state_.run.began = view.began;
    const auto error = base::make_error(ErrorKind::aborted, "the job's membership is changing");
    adoptions_.stop(error);
    groups_.prepare(error);
    rounds_.prepare(view.epoch);
}

void Job::withdrawn(control::Rank rank) {
    if (serving_) {
        serving_->withdrawn(rank);
    } else {
        groups_.withdrawn(rank);
    }
}

void Job::refuse(const WorkerPtr& worker, const base::Error& error) {
    worker->refusal = error;
    state_.end_all(worker, failed(error));
    if (serving_) serving_->end_asides(worker, failed(error));
}

namespace {

// Null: nobody gives the newcomer a model.
const control::Adoption* adoption_of(const control::CommitView& view, control::Rank newcomer) {
    const auto found =
        std::find_if(view.adoptions.begin(), view.adoptions.end(),
                     [&](const control::Adoption& a) { return a.newcomer == newcomer; });
    return found == view.adoptions.end() ? nullptr : &*found;
}

}  // namespace

// The model is there already: workers that wait for a round of pace_broadcast get that model.
void Job::leave_rounds() {
    for (const auto& [rank, worker] : state_.workers)
        if (worker->state == Worker::State::waiting && worker->head().verb == Verb::broadcast &&
            rounds_.withdraw(*worker))
            worker->state = Worker::State::pulling;
}

// The workers here that the view has as members are newcomers no more.
Job::TakenIn Job::take_in(const control::CommitView& view) {
    TakenIn taken;
    for (const auto& [rank, worker] : state_.workers) {
        if (state_.view.node_of(rank) != state_.services.self) continue;
        worker->is_new = false;
        worker->newcomer = false;
        worker->suspended = false;
        worker->admit_sent = false;
        worker->accepts_own = false;
        const control::Adoption* const adoption = adoption_of(view, rank);
        const bool has_no_donor = adoption != nullptr && adoption->donor == control::kNoRank;
        if (serving_) {
            if (has_no_donor && view.saved_generation == 0 && serving_->leave_pull(*worker))
                taken.wait_for_all.push_back(worker);
        } else if (worker->state == Worker::State::adopting) {
            if (adoption == nullptr) taken.keep_own.push_back(worker);
            if (has_no_donor) taken.wait_for_all.push_back(worker);
        }
    }
    return taken;
}

void Job::commit(const control::CommitView& view) {
    if (view.epoch <= state_.view.epoch) return;
    state_.view.epoch = view.epoch;
    state_.view.members = view.members;
    state_.wants_view = false;
    rounds_.hold(view.epoch);
    const auto [keep_own, wait_for_all] = take_in(view);
    if (serving_ && view.saved_generation != 0) leave_rounds();
    // Before the rounds, which still wait: the first of them may assign the model that the view
    // says is lost.
    if (serving_) serving_->commit(view);
    // A node that is behind first completes the round that it missed: until then its workers'
    // models, and their iterations, are of the round before. Any other node first takes the models,
    // since its next round ends the donor's boundary.
    const bool behind = std::find(view.behind.begin(), view.behind.end(), state_.services.self) !=
                        view.behind.end();
    if (behind) rounds_.commit(view);
    adoptions_.commit(view);
    for (const WorkerPtr& worker : keep_own) keep_own_model(worker);
    // There has been no round yet: the newcomer lacks nothing, and its broadcast is one for all
    // members.
    for (const WorkerPtr& worker : wait_for_all) rounds_.called(worker);
    if (!behind) rounds_.commit(view);
    groups_.commit_view();
}

// Nobody else with a model is there: the newcomer goes on with the contents of its buffers, and
// others get these as their model.
void Job::keep_own_model(const WorkerPtr& worker) {
    worker->model = worker->head().buffers;
    worker->lacks_model = false;
    if (worker->head().contents) worker->head().contents->made = true;  // not in the twins
    Ending ending;
    ending.iteration = worker->iteration;
    ending.group = rounds_.completed() == 0 ? 0 : rounds_.completed() - 1;
    state_.end_head(worker, std::move(ending));
}

void Job::no_model(control::Rank rank) {
    const WorkerPtr worker = state_.find(rank);
    const bool is_taking = worker && worker->state == Worker::State::taking;
    if (!worker || (worker->state != Worker::State::adopting && !is_taking)) return;
    worker->newcomer = true;
    worker->suspended = false;
    worker->admit_sent = false;
    rounds_.departed(*worker);
    if (is_taking) return;  // the worker asks again when the model is taken
    worker->accepts_own = true;
    worker->lacks_model = false;
    state_.end_head(
        worker,
        failed(base::make_error(
            ErrorKind::not_found,
            "this worker lacks rounds of job \"{}\", and no other can give it a model, since "
            "none has got one by pace_broadcast, or it is in memory of the trainers' own "
            "(PACE_POINTER) that their reductions do not name: start all workers anew from a "
            "checkpoint, or let this one go on with its own parameters by calling what the others "
            "call",
            state_.options.name)));
}

void Job::drain(control::Rank rank, const std::string& reason) {
    const WorkerPtr worker = state_.find(rank);
    if (!worker) return;
    const base::Error error{ErrorKind::closed, reason};
    worker->refusal = error;
    worker->newcomer = true;
    worker->suspended = true;
    // The worker's gradient counts in the round that has it; the request ends with that round.
    if (rounds_.suspend(*worker) && worker->state == Worker::State::waiting) return;
    state_.end_all(worker, failed(error));
    if (!serving_) return;
    serving_->suspend(worker, reason);
    serving_->end_asides(worker, failed(error));
}

void Job::suspend(control::Rank rank, const std::string& reason, bool anew) {
    const WorkerPtr worker = state_.find(rank);
    if (!worker) return;
    worker->lose_place();
    if (anew) worker->unaware = true;
    const bool goes_on = rounds_.suspend(*worker);
    const std::string and_now = reason + "; call pace_broadcast for the current model";
    if (serving_) serving_->suspend(worker, and_now);
    switch (worker->state) {
        case Worker::State::waiting:
            if (goes_on) return;
            if (worker->head().verb == Verb::broadcast) {
                begin_newcomer(worker);  // which is what it would be told to call
            } else {
                state_.end_all(worker, ended_as(Outcome::stale, and_now));
            }
            return;
        case Worker::State::pulling:
            if (worker->head().verb == Verb::broadcast) {
                begin_newcomer(worker);
            } else {
                state_.end_all(worker, ended_as(Outcome::stale, and_now));
            }
            return;
        case Worker::State::ready:
            if (std::exchange(worker->unaware, false))
                state_.end_all(worker, ended_as(Outcome::stale, and_now));
            else
                begin_newcomer(worker);
            return;
        case Worker::State::adopting:
            begin_newcomer(worker);
            return;
        case Worker::State::idle:
        case Worker::State::moving:
        case Worker::State::taking:
        case Worker::State::refused:
            return;
    }
}

}  // namespace pace::daemon
