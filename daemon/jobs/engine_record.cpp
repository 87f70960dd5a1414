// Engine: what the flight recorder is told of jobs and of the controller's orders.
#include "daemon/jobs/engine.h"

namespace pace::daemon {

namespace {

template <typename Members>
std::vector<uint32_t> ranks_of(const Members& members) {
    std::vector<uint32_t> ranks;
    ranks.reserve(members.size());
    for (const auto& member : members) ranks.push_back(member.rank);
    return ranks;
}

}  // namespace

void Engine::record(Record record, const Seat& seat) const {
    record.job = seat.job->state().id;
    record.rank = seat.worker->rank;
    services_.recorder->note(record);
}

void Engine::record(const control::PrepareView& view) const {
    services_.recorder->note(
        {.kind = RecordKind::view_prepared, .job = view.job, .number = view.epoch});
}

void Engine::record(const control::CommitView& view) const {
    services_.recorder->note(
        {.kind = RecordKind::view_committed, .job = view.job, .number = view.epoch},
        ranks_of(view.members));
}

void Engine::record(const control::GroupOrder& order) const {
    services_.recorder->note(
        {.kind = RecordKind::group_ordered, .job = order.job, .number = order.group},
        ranks_of(order.members));
}

void Engine::record(const control::WorkerSuspended& suspended) const {
    services_.recorder->note(
        {.kind = RecordKind::worker_suspended, .job = suspended.job, .rank = suspended.rank});
    services_.recordings->keep("suspended");
}

void Engine::record_wait(const Active& exchange, base::Duration stalled_for,
                         const std::vector<NodeId>& nodes) const {
    Record record = exchange_record(RecordKind::exchange_waits, exchange.job(), exchange.what());
    record.amount = static_cast<uint64_t>(stalled_for / std::chrono::milliseconds(1));
    services_.recorder->note(record, nodes);
}

// Remembers a job's user and name, as long as the job is known here.
void Engine::remember(control::JobId id, const JobState& state) {
    const auto is_over = [this](const auto& entry) { return !by_id_.contains(entry.first); };
    std::erase_if(services_.users, is_over);
    std::erase_if(services_.job_names, is_over);
    services_.users[id] = state.uid;
    services_.job_names[id] = state.options.name;
    services_.recorder->name_job(id, state.options.name);
    services_.recorder->name_run(id, state.run.began);
}

}  // namespace pace::daemon
