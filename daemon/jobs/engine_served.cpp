// Engine: what the controller says of the models of server jobs, and what only this node knows
// about its part of one.
#include <algorithm>

#include "daemon/jobs/engine.h"
#include "daemon/jobs/job.h"
#include "protocol/options/asked_options.h"

namespace pace::daemon {

using base::Result;

std::vector<Engine::ShardSummary> Engine::shards() const {
    std::vector<ShardSummary> summaries;
    for (const auto& [name, job] : jobs_.all()) {
        if (job->shard_host() == nullptr) continue;
        for (const auto& [number, seen] : job->shard_host()->shards())
            summaries.push_back({name, number, seen.count, seen.versions, seen.memory});
    }
    return summaries;
}

void Engine::on(const control::ServerOrder& order) {
    jobs_.with(order.job, [&order](Job& found) { found.order(order); });
}

void Engine::on(const control::CheckpointEnded& ended) {
    jobs_.with(ended.job, [&ended](Job& found) { found.checkpoint_ended(ended); });
}

// For a worker of a parameter server, the server says at which step the worker is.
uint64_t Engine::reached(const JoinRequest& request, uint64_t kept) {
    const protocol::PolicyRow* const policy = protocol::find_policy(request.options.policy);
    const bool is_served = policy != nullptr && policy->family == control::Family::server;
    return is_served ? kept : std::max(kept, request.iteration_untrusted);
}

// Checks what only this node knows: whether it has room for its part of the job's model, and a
// folder for the job's checkpoints.
void Engine::check_job(const control::AskedOptions& asked, uint32_t uid,
                       const ShardDisk::Checked& checked) {
    const Result<control::JobOptions> read = protocol::read_options(asked);
    // The controller refuses options that this daemon does not understand, in better words.
    if (!read) return checked({});
    const control::JobOptions& options = *read;
    if (protocol::family_of(options.policy) == control::Family::server) {
        const uint64_t parts = options.shards == 0 ? options.world : options.shards;
        const uint64_t nodes = std::max<uint64_t>(1, std::min<uint64_t>(parts, options.world));
        const uint64_t here = options.elements / nodes;
        const auto possible = services_.accounts->check_possible(
            here > UINT64_MAX / sizeof(float) ? UINT64_MAX : here * sizeof(float),
            fmt::format("a model of {} elements, over at most {} nodes,", options.elements, nodes));
        if (!possible) return checked(possible);
    }
    ShardDisk::check(services_, scope_, options, uid, checked);
}

}  // namespace pace::daemon
