// Job lateness: which workers are late or must leave, and their removal from the job.
#include <algorithm>

#include "service/controller/core/job.h"
#include "service/controller/core/lateness.h"
#include "service/controller/core/options.h"
#include "service/controller/core/paces.h"

namespace pace::controller {

void Job::on_report(NodeId node, const WorkerReport& report, const Turn& turn) {
    Worker* worker = live_at(node, report.rank);
    if (worker == nullptr) return;
    const bool was_stopped = worker->stopped_since.has_value();
    observe(*worker, report, step_sign_of(options_), turn.now);
    if (was_stopped != worker->stopped_since.has_value()) note_stop(report.rank, turn);
    if (slow_workers_.is_due(turn.now))
        slow_workers_.look(paces_of(workers_, cluster_, turn.now), turn.now);
    // While a request is in flight busy_ms is 0. The first round after the admission may be the
    // adoption itself. Later rounds say nothing if they continue without the newcomer.
    const bool past_first = report.rounds_submitted > views_.view().base_round + 1;
    if (report.busy_ms > 0 || (past_first && !is_partial(options_))) {
        adoptions_.on_finished(report.rank);
    }
    if (groups_ && is_stopped(*worker, cluster_.options, turn.now)) groups_->freeze(report.rank);
    suspend_if_late(report.rank, turn);
}

void Job::on_stalled(NodeId node, const Turn& turn) {
    for (Rank rank = 0; rank < workers_.size(); ++rank) {
        if (live_at(node, rank) != nullptr) suspend_if_late(rank, turn);
    }
}

bool Job::is_waited_on(Rank rank) const {
    if (groups_ && groups_->is_busy(rank)) return false;
    if (server_ && server_->holds_up(rank)) return true;
    if (options_.policy == Policy::prague_static) {
        return std::any_of(workers_.begin(), workers_.end(), [](const Worker& other) {
            return other.state == WorkerState::member && other.busy_ms == 0;
        });
    }
    return std::any_of(workers_.begin(), workers_.end(), [&](const Worker& other) {
        return other.state == WorkerState::member &&
               other.rounds_submitted > workers_[rank].rounds_submitted;
    });
}

void Job::suspend_if_late(Rank rank, const Turn& turn) {
    const Worker& worker = workers_[rank];
    if (worker.state != WorkerState::member) return;
    const auto reason = reason_to_suspend(worker, options_, cluster_.options, turn.now);
    if (reason && is_waited_on(rank)) suspend(rank, *reason, turn);
}

void Job::suspend(Rank rank, const std::string& reason, const Turn& turn) {
    Worker& worker = workers_[rank];
    if (groups_) groups_->remove_member(rank);
    if (server_) server_->remove_member(rank, turn.now);
    adoptions_.on_finished(rank);
    worker.state = WorkerState::suspended;
    place(rank, Placement::joined, turn);
    turn.tell(worker.node, WorkerSuspended{id_, rank, reason});
    turn.warn("worker-suspended",
              fmt::format("job {}: rank {} on node '{}' is suspended: {}", options_.name, rank,
                          cluster_.nodes.name_of(worker.node), reason),
              about(rank));
    request_view(0);
}

// Takes the node's workers out of the view at once: the others wait for nothing from there. Results
// that a worker has submitted count.
void Job::drain(NodeId node, const Turn& turn) {
    const std::string reason = fmt::format(
        "an operator drains node '{}' (pacectl node drain), and this worker has left job '{}'; "
        "save "
        "what is to be kept, and open the job on another node",
        cluster_.nodes.name_of(node), options_.name);
    for (Rank rank = 0; rank < workers_.size(); ++rank) {
        if (live_at(node, rank) == nullptr) continue;
        turn.tell(node, WorkerSuspended{id_, rank, reason, true});
        turn.note("worker-left",
                  fmt::format("job {}: rank {} leaves, since node '{}' is drained", options_.name,
                              rank, cluster_.nodes.name_of(node)),
                  about(rank));
        detach(rank, WorkerState::left, Placement::left, turn);
        workers_[rank].may_return = false;
    }
}

}  // namespace pace::controller
