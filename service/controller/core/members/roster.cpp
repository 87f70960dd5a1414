#include "service/controller/core/members/roster.h"

namespace pace::controller {

namespace {

bool is_unsettled(WorkerState state) {
    return state == WorkerState::lost || state == WorkerState::missing;
}

Placement placement_of(const Worker& worker) {
    if (worker.state == WorkerState::left) return Placement::left;
    if (worker.state == WorkerState::lost)
        return worker.node_was_lost ? Placement::lost : Placement::died;
    const bool is_member = is_taking_part(worker.state) || worker.state == WorkerState::missing;
    return is_member ? Placement::member : Placement::joined;
}

}  // namespace

void Roster::make_room() {
    if (workers_.empty()) workers_.resize(world_);
}

Worker* Roster::live_at(NodeId node, Rank rank) {
    if (rank >= workers_.size()) return nullptr;
    Worker& worker = workers_[rank];
    return is_live(worker.state) && worker.node == node ? &worker : nullptr;
}

void Roster::place(Rank rank, Placement placement, const Turn& turn) const {
    turn.act(JournalAppend{encode(PlacementRecord{job_, rank, workers_[rank].node, placement})});
}

// ----------------------------------------------------------------------------------------- changes

void Roster::enter(Rank rank, NodeId node, WorkerState state, const Turn& turn) {
    Worker& worker = workers_[rank];
    if (worker.state == WorkerState::absent) ++seen_;
    if (is_unsettled(worker.state)) --unsettled_;
    const bool was_lost = worker.may_return;
    worker = Worker{};
    worker.may_return = was_lost;
    worker.state = state;
    worker.node = node;
    ++live_;
    nodes_ever_.insert(node);
    if (Node* host = nodes_.find(node)) ++host->workers;
    place(rank, state == WorkerState::member ? Placement::member : Placement::joined, turn);
}

void Roster::go(Rank rank, Departure how, const Turn& turn) {
    Worker& worker = workers_[rank];
    worker.state = how == Departure::left ? WorkerState::left : WorkerState::lost;
    worker.node_was_lost = how == Departure::with_node;
    worker.may_return = how == Departure::with_node || how == Departure::with_all_of_it;
    if (is_unsettled(worker.state)) ++unsettled_;
    if (Node* host = nodes_.find(worker.node)) --host->workers;
    --live_;
    place(rank, placement_of(worker), turn);
}

void Roster::admit(Rank rank, bool wants_model, const Turn& turn) {
    Worker& worker = workers_[rank];
    worker.state = WorkerState::admitted;
    worker.wants_model = wants_model;
    worker.stopped_since.reset();
    worker.busy_ms = 0;
    place(rank, Placement::member, turn);
}

void Roster::suspend(Rank rank, const Turn& turn) {
    workers_[rank].state = WorkerState::suspended;
    place(rank, Placement::joined, turn);
}

void Roster::send_back(Rank rank, const Turn& turn) {
    workers_[rank].state = WorkerState::newcomer;
    workers_[rank].wants_model = false;
    place(rank, Placement::joined, turn);
}

void Roster::start() {
    for (Worker& worker : workers_)
        if (worker.state == WorkerState::joined) worker.state = WorkerState::member;
}

void Roster::make_members(std::span<const Member> members) {
    for (const Member& member : members) {
        Worker& worker = workers_[member.rank];
        worker.state = WorkerState::member;
        worker.wants_model = false;
        worker.accepts_own = false;
        worker.came_from.reset();
    }
}

void Roster::expect_members() {
    for (Worker& worker : workers_) {
        if (worker.state != WorkerState::absent) continue;
        worker = Worker{};
        worker.state = WorkerState::missing;
        ++seen_;
        ++unsettled_;
    }
}

std::vector<Rank> Roster::give_up_missing(const Turn& turn) {
    std::vector<Rank> ranks;
    for (Rank rank = 0; rank < workers_.size(); ++rank) {
        Worker& worker = workers_[rank];
        if (worker.state != WorkerState::missing) continue;
        worker.state = WorkerState::lost;
        worker.node_was_lost = true;
        place(rank, Placement::lost, turn);
        ranks.push_back(rank);
    }
    return ranks;
}

void Roster::expect_no_return() {
    for (Worker& worker : workers_) worker.may_return = false;
}

// ------------------------------------------------------------------------------------- the journal

void Roster::replay(const PlacementRecord& record, bool is_started) {
    if (record.rank >= world_) return;
    make_room();
    Worker& worker = workers_[record.rank];
    worker.node = record.node;
    worker.node_was_lost = record.placement == Placement::lost;
    nodes_ever_.insert(record.node);
    switch (record.placement) {
        case Placement::joined:
            worker.state = is_started ? WorkerState::newcomer : WorkerState::joined;
            break;
        case Placement::member:
            worker.state = WorkerState::member;
            break;
        case Placement::left:
            worker.state = WorkerState::left;
            break;
        case Placement::lost:
        case Placement::died:
            worker.state = WorkerState::lost;
            break;
    }
}

void Roster::replay_finished() {
    seen_ = unsettled_ = 0;
    for (Worker& worker : workers_) {
        // A worker that is no member has nothing to lose: it joins again.
        if (worker.state == WorkerState::joined) worker.state = WorkerState::absent;
        if (worker.state == WorkerState::newcomer) {
            worker.state = WorkerState::lost;
            worker.node_was_lost = true;
        }
        if (worker.state == WorkerState::member) worker.state = WorkerState::missing;
        if (worker.state != WorkerState::absent) ++seen_;
        if (is_unsettled(worker.state)) ++unsettled_;
    }
}

void Roster::append_records(std::vector<JournalRecord>& records) const {
    for (Rank rank = 0; rank < workers_.size(); ++rank)
        if (workers_[rank].state != WorkerState::absent)
            records.emplace_back(
                PlacementRecord{job_, rank, workers_[rank].node, placement_of(workers_[rank])});
}

}  // namespace pace::controller
