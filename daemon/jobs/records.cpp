#include "daemon/jobs/records.h"

#include <cstdint>
#include <vector>

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

void record_order(Recorder& recorder, const control::PrepareView& view) {
    recorder.note({.kind = RecordKind::view_prepared, .job = view.job, .number = view.epoch});
}

void record_order(Recorder& recorder, const control::CommitView& view) {
    recorder.note({.kind = RecordKind::view_committed, .job = view.job, .number = view.epoch},
                  ranks_of(view.members));
}

void record_order(Recorder& recorder, const control::GroupOrder& order) {
    recorder.note({.kind = RecordKind::group_ordered, .job = order.job, .number = order.group},
                  ranks_of(order.members));
}

void record_order(Recorder& recorder, const control::WorkerSuspended& suspended) {
    recorder.note(
        {.kind = RecordKind::worker_suspended, .job = suspended.job, .rank = suspended.rank});
}

}  // namespace pace::daemon
