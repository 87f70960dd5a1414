// Job notes: what operators are told about the job's workers.
#include <algorithm>

#include "service/controller/core/job.h"

namespace pace::controller {

About Job::about(Rank rank) const {
    return {options_.name, rank, cluster_.nodes.name_of(workers_[rank].node)};
}

void Job::note_empty(const Turn& turn) const {
    const auto lost = std::count_if(workers_.begin(), workers_.end(), [](const Worker& worker) {
        return worker.state == WorkerState::lost;
    });
    turn.note("job-finished",
              fmt::format("job {}: no worker is left{}", options_.name,
                          lost == 0 ? std::string() : fmt::format(", and {} were lost", lost)),
              about());
}

void Job::note_stop(Rank rank, const Turn& turn) const {
    const bool is_stopped = workers_[rank].stopped_since.has_value();
    const std::string text =
        fmt::format("job {}: the process of rank {} on node '{}' {}", options_.name, rank,
                    cluster_.nodes.name_of(workers_[rank].node),
                    is_stopped ? "is stopped by a signal" : "goes on");
    turn.act(Note{is_stopped, is_stopped ? "worker-stopped" : "worker-goes-on", text, about(rank)});
}

}  // namespace pace::controller
