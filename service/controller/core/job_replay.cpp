// Job replay: the journal's content after the controller's restart, and the gathering of members.
#include <algorithm>
#include <set>

#include "service/controller/core/job.h"

namespace pace::controller {

void Job::replay(const EpochRecord& record) {
    for (Worker& worker : workers_) {
        if (!is_started() && worker.state == WorkerState::joined)
            worker.state = WorkerState::member;
    }
    views_.raise_epoch_to(record.epoch);
}

void Job::replay(const PlacementRecord& record) {
    if (record.rank >= options_.world) return;
    furnish();
    Worker& worker = workers_[record.rank];
    worker.node = record.node;
    had_workers_.insert(record.node);
    switch (record.placement) {
        case Placement::joined:
            worker.state = is_started() ? WorkerState::newcomer : WorkerState::joined;
            break;
        case Placement::member:
            worker.state = WorkerState::member;
            break;
        case Placement::left:
            worker.state = WorkerState::left;
            break;
        case Placement::lost:
            worker.state = WorkerState::lost;
            worker.node_was_lost = true;
            break;
        case Placement::died:
            worker.state = WorkerState::lost;
            break;
    }
}

void Job::replay_finished(TimePoint now) {
    journal_epoch_ = views_.epoch();
    if (server_ && is_started()) server_->set_under_way();
    ranks_seen_ = unsettled_ = 0;
    for (Worker& worker : workers_) {
        // A worker that is no member has nothing to lose: it joins again.
        if (worker.state == WorkerState::joined) worker.state = WorkerState::absent;
        if (worker.state == WorkerState::newcomer) {
            worker.state = WorkerState::lost;
            worker.node_was_lost = true;
        }
        if (worker.state == WorkerState::member) {
            worker.state = WorkerState::missing;
            gathering_ = true;
        }
        if (worker.state != WorkerState::absent) ++ranks_seen_;
        if (worker.state == WorkerState::lost || worker.state == WorkerState::missing) ++unsettled_;
    }
    if (ranks_seen_ != 0) {
        empty_since_ = now;
    } else {
        begin_unjoined(now);
    }
    if (gathering_) gather_deadline_ = now + cluster_.options.liveness_max;
}

// Gathering ends when all members are back, or when the time is over and some member is back.
void Job::end_gathering(const Turn& turn) {
    const bool over = gather_deadline_ && turn.now >= *gather_deadline_;
    if (over && live_ == 0) gather_deadline_.reset();  // restarted by the first member that returns
    const bool missing = std::any_of(workers_.begin(), workers_.end(), [](const Worker& worker) {
        return worker.state == WorkerState::missing;
    });
    if (missing && (!over || live_ == 0)) return;
    gathering_ = false;
    gather_deadline_.reset();
    std::set<NodeId> gone;
    for (Rank rank = 0; rank < workers_.size(); ++rank) {
        if (workers_[rank].state != WorkerState::missing) continue;
        workers_[rank].state = WorkerState::lost;
        workers_[rank].node_was_lost = true;
        place(rank, Placement::lost, turn);
        if (!cluster_.nodes.is_attached(workers_[rank].node)) gone.insert(workers_[rank].node);
        turn.warn("worker-missing",
                  fmt::format("job {}: rank {} did not come back after the controller's restart",
                              options_.name, rank),
                  about(rank));
    }
    // Its peers may have operations with it under way, which would never end otherwise.
    for (const NodeId node : gone)
        turn.tell_others(NodeGone{node, "it did not come back after the controller's restart"});
    view_wanted_ = true;
}

void Job::append_records(std::vector<JournalRecord>& records) const {
    records.emplace_back(JobRecord{id_, uid_, token_, options_});
    records.emplace_back(RunRecord{id_, run_, run_before_});
    if (is_started()) records.emplace_back(EpochRecord{id_, views_.epoch()});
    for (Rank rank = 0; rank < workers_.size(); ++rank) {
        const Worker& worker = workers_[rank];
        if (worker.state == WorkerState::absent) continue;
        Placement placement = Placement::joined;
        if (worker.state == WorkerState::left) placement = Placement::left;
        if (worker.state == WorkerState::lost)
            placement = worker.node_was_lost ? Placement::lost : Placement::died;
        if (is_taking_part(worker.state) || worker.state == WorkerState::missing)
            placement = Placement::member;
        records.emplace_back(PlacementRecord{id_, rank, worker.node, placement});
    }
}

}  // namespace pace::controller
