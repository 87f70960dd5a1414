#include "daemon/families/rounds/compression.h"

#include <algorithm>
#include <utility>

#include "base/log/log.h"
#include "daemon/families/rounds/top_k_options.h"
#include "daemon/runtime/exchange_number.h"
#include "daemon/runtime/mix.h"
#include "daemon/sparse/algorithms/cost_model.h"

namespace pace::daemon {

using base::Result;

namespace {

// The link for which teams, and dense or sparse, are chosen where the job does not name them. It is
// not measured: the order of a sum must follow from what all nodes know, and be the same on a rerun
// (docs/decisions/0031).
constexpr sparse::Link kNominalLink{};

}  // namespace

Result<sparse::Options> Compression::options_for(size_t participants, bool all_here) const {
    const control::JobOptions& job = job_.options;
    sparse::Options options = top_k_options(job);
    options.link = kNominalLink;
    options.view = job_.view.epoch;
    options.all_reduce = job_.services.options.all_reduce;
    // A view without all members has to do with fewer teams; with all members, an unfit option is
    // an error.
    if (job.teams > 1 && !all_here)
        options.teams = teams_for(participants, job.teams, options.gather);
    if (participants > 1) PACE_TRY(sparse::check(options, participants));
    return options;
}

bool Compression::goes_dense(size_t participants, size_t count, const sparse::Options& options) {
    if (participants == 1) return true;
    if (job_.options.dense_fallback == control::DenseFallback::never) return false;
    sparse::Problem problem;
    problem.P = participants;
    problem.n = count;
    problem.k = static_cast<size_t>(options.density * static_cast<double>(count));
    problem.format = options.format;
    problem.residuals = options.residuals;
    const sparse::DenseChoice choice = sparse::should_go_dense(problem, kNominalLink);
    if (choice.reason != last_reason_) {
        last_reason_ = choice.reason;
        base::log_info("dense or sparse", {{"job", job_.options.name}, {"reason", choice.reason}});
    }
    return choice.dense;
}

Result<bool> Compression::choose(Exchange::Plan& plan, const std::vector<WorkerPtr>& members) {
    plan.half = half_of(job_.options.compression);
    if (!protocol::is_top_k(job_.options.compression)) return true;
    SparsePlan top_k;
    if (residuals_.is_flat())
        for (const control::Member& member : job_.view.members) top_k.hosts.push_back(member.node);
    const size_t participants = residuals_.is_flat() ? top_k.hosts.size() : plan.nodes.size();
    const bool all_here = job_.view.members.size() == job_.options.world;
    const std::vector<BufferPtr>& buffers = members.front()->head().buffers;
    const size_t count = elements_of(buffers);
    PACE_TRY_ASSIGN(options, options_for(participants, all_here));
    if (goes_dense(participants, count, options)) options.algorithm = sparse::Algorithm::dense;
    plan.dense_instead = options.algorithm == sparse::Algorithm::dense;
    top_k.options = options;
    top_k.number = exchange_number(job_.token, ExchangeKind::flat, job_.view.epoch, plan.number);

    if (!residuals_.is_flat()) {
        // Alone and without a residual, the workers' buffers are summed where they are.
        if (participants == 1 && !residuals_.has(Residuals::kNode, buffers)) return true;
        PACE_TRY_ASSIGN(state, residuals_.state_of(Residuals::kNode, buffers));
        top_k.participants.push_back({plan.self, state});
    } else {
        for (const WorkerPtr& worker : members) {
            PACE_TRY_ASSIGN(state, residuals_.state_of(worker->rank, buffers));
            const auto member = std::find_if(
                job_.view.members.begin(), job_.view.members.end(),
                [&](const control::Member& other) { return other.rank == worker->rank; });
            top_k.participants.push_back(
                {static_cast<size_t>(member - job_.view.members.begin()), state});
        }
    }
    // An inherited residual is still being added.
    if (!residuals_.is_ready()) return false;
    plan.check = static_cast<uint32_t>(mix(plan.check, static_cast<uint64_t>(options.algorithm)));
    plan.top_k = std::make_shared<SparsePlan>(std::move(top_k));
    residuals_.lend();
    return true;
}

void Compression::committed(const ExchangePlan& plan) {
    if (plan.dense_instead) ++job_.services.counters.rounds_dense_instead;
    if (!plan.top_k) return;
    for (const SparseParticipant& participant : plan.top_k->participants)
        participant.state->commit();
}

}  // namespace pace::daemon
