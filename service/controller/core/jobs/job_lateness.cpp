// Job lateness: which workers are late or must leave, and their removal from the job.
#include <algorithm>

#include "service/controller/core/jobs/job.h"
#include "service/controller/core/members/lateness.h"
#include "service/controller/core/members/paces.h"
#include "service/controller/vocabulary/options.h"

namespace pace::controller {

void Job::on_report(NodeId node, const WorkerReport& report, const Turn& turn) {
    Worker* worker = roster_.live_at(node, report.rank);
    if (worker == nullptr) return;
    const bool was_stopped = worker->stopped_since.has_value();
    observe(*worker, report, step_sign_of(options_), turn.now);
    if (was_stopped != worker->stopped_since.has_value()) note_stop(report.rank, turn);
    if (slow_workers_.is_due(turn.now))
        slow_workers_.look(paces_of(workers(), cluster_, turn.now), turn.now);
    // While a request is in flight busy_ms is 0. The first round after the admission may be the
    // adoption itself. Later rounds say nothing if they continue without the newcomer.
    const bool past_first = report.rounds_submitted > views_.view().base_round + 1;
    if (report.busy_ms > 0 || (past_first && !is_partial(options_))) {
        adoptions_.on_finished(report.rank);
    }
    if (groups_ && is_stopped(*worker, cluster_.options, turn.now)) groups_->freeze(report.rank);
    suspend_if_late(report.rank, turn);
}

void Job::note_stop(Rank rank, const Turn& turn) const {
    const bool is_stopped = roster_.at(rank).stopped_since.has_value();
    const std::string text =
        fmt::format("job {}: the process of rank {} on node '{}' {}", options_.name, rank,
                    cluster_.nodes.name_of(roster_.at(rank).node),
                    is_stopped ? "is stopped by a signal" : "goes on");
    turn.act(Note{is_stopped, is_stopped ? "worker-stopped" : "worker-goes-on", text, about(rank)});
}

void Job::on_stalled(NodeId node, const Turn& turn) {
    for (Rank rank = 0; rank < workers().size(); ++rank) {
        if (roster_.live_at(node, rank) != nullptr) suspend_if_late(rank, turn);
    }
}

bool Job::is_waited_on(Rank rank) const {
    if (groups_ && groups_->is_busy(rank)) return false;
    if (server_ && server_->holds_up(rank)) return true;
    if (options_.policy == Policy::prague_static) {
        return roster_.any([](const Worker& other) {
            return other.state == WorkerState::member && other.busy_ms == 0;
        });
    }
    return roster_.any([&](const Worker& other) {
        return other.state == WorkerState::member &&
               other.rounds_submitted > roster_.at(rank).rounds_submitted;
    });
}

void Job::suspend_if_late(Rank rank, const Turn& turn) {
    const Worker& worker = roster_.at(rank);
    if (worker.state != WorkerState::member) return;
    const auto reason = reason_to_suspend(worker, options_, cluster_.options, turn.now);
    if (reason && is_waited_on(rank)) suspend(rank, *reason, turn);
}

void Job::suspend(Rank rank, const std::string& reason, const Turn& turn, bool anew) {
    end_part(rank, turn.now);
    roster_.suspend(rank, turn);
    const NodeId node = roster_.at(rank).node;
    turn.tell(node, WorkerSuspended{id_, rank, reason, false, anew});
    turn.warn("worker-suspended",
              fmt::format("job {}: rank {} on node '{}' is suspended: {}", options_.name, rank,
                          cluster_.nodes.name_of(node), reason),
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
    for (Rank rank = 0; rank < workers().size(); ++rank) {
        if (roster_.live_at(node, rank) == nullptr) continue;
        turn.tell(node, WorkerSuspended{id_, rank, reason, true});
        turn.note("worker-left",
                  fmt::format("job {}: rank {} leaves, since node '{}' is drained", options_.name,
                              rank, cluster_.nodes.name_of(node)),
                  about(rank));
        depart(rank, Departure::left, turn);
    }
}

}  // namespace pace::controller
