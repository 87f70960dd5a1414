// Engine: what the controller says of the models of server jobs.
#include "daemon/exchange/engine.h"
#include "daemon/exchange/job.h"

namespace pace::daemon {

std::vector<Engine::ShardSummary> Engine::shards() const {
    std::vector<ShardSummary> summaries;
    for (const auto& [name, job] : jobs_) {
        if (job->shard_host() == nullptr) continue;
        for (const auto& [number, seen] : job->shard_host()->shards())
            summaries.push_back({name, number, seen.count, seen.versions, seen.memory});
    }
    return summaries;
}

void Engine::on_server_order(const control::ServerOrder& order) {
    with_job(order.job, [&order](Job& found) { found.order(order); });
}

void Engine::on_checkpoint_ended(const control::CheckpointEnded& ended) {
    with_job(ended.job, [&ended](Job& found) { found.checkpoint_ended(ended); });
}

}  // namespace pace::daemon
