#include "service/controller/core/jobs.h"

#include <algorithm>

#include "service/controller/core/job_options.h"

namespace pace::controller {

using base::Error;
using base::ErrorKind;
using base::make_error;
using base::Result;

// ---------------------------------------------------------------------------------------- creating

Job& Jobs::add(JobId id, const JobOptions& options, uint32_t uid, uint64_t token) {
    next_id_ = std::max(next_id_, id + 1);
    ids_[options.name] = id;
    auto& job = jobs_[id];
    job = std::make_unique<Job>(id, options, uid, token, cluster_);
    return *job;
}

Job& Jobs::create(const JobOptions& options, uint32_t uid, const Turn& turn) {
    const JobId id = next_id_;
    const uint64_t token = make_token_();
    turn.act(JournalAppend{encode(JobRecord{id, uid, token, options})});
    return add(id, options, uid, token);
}

void Jobs::create(const JobCreate& event, const Turn& turn) {
    const auto refuse = [&](Error error) {
        turn.act(JoinRefused{event.node, event.request, std::move(error)});
    };
    const Result<JobOptions> options = check(event.options);
    if (!options) return refuse(options.error());
    const Job* existing = find(options->name);
    if (existing != nullptr && existing->uid() != event.uid) {
        return refuse(make_error(ErrorKind::denied,
                                 "job '{}' belongs to another user; choose another name",
                                 options->name));
    }
    if (existing != nullptr) {
        return refuse(make_error(
            ErrorKind::taken,
            "job '{}' exists already; let workers join it, or choose another name", options->name));
    }
    const Job& job = create(*options, event.uid, turn);
    turn.act(JoinAccepted{event.node, event.request, job.id(), kNoRank, job.options(), job.token(),
                          false});
}

// ----------------------------------------------------------------------------------------- joining

Job* Jobs::join(const WorkerJoin& event, const Turn& turn) {
    const auto refuse = [&](Error error) {
        turn.act(JoinRefused{event.node, event.request, std::move(error)});
        return nullptr;
    };
    const Result<JobOptions> options = check(event.options);
    if (!options) return refuse(options.error());
    Result<Job*> job = admission(event, *options, turn);
    if (!job) return refuse(job.error());
    (*job)->join(event, turn);
    return *job;
}

// The job that the worker may join, created if need be; or why it may not. Options are as check()
// returns them.
Result<Job*> Jobs::admission(const WorkerJoin& event, const JobOptions& options, const Turn& turn) {
    if (event.rank >= options.world) {
        return make_error(ErrorKind::invalid, "rank is {}; in a world of {} use 0 to {}",
                          event.rank, options.world, options.world - 1);
    }
    Job* job = find(options.name);
    if (job == nullptr) return &create(options, event.uid, turn);
    if (job->uid() != event.uid) {
        return make_error(ErrorKind::denied,
                          "job '{}' belongs to another user; choose another name", options.name);
    }
    if (options != job->options()) {
        return make_error(
            ErrorKind::mismatch,
            "job '{}' has other options: {}; join with the job's, or choose another name",
            options.name, differences(options, job->options()));
    }
    const Worker& holder = *job->find(event.rank);
    if (is_live(holder.state)) {
        return make_error(ErrorKind::taken,
                          "rank {} of job '{}' is held by a worker on node '{}'; use a free rank",
                          event.rank, options.name, cluster_.nodes.name_of(holder.node));
    }
    return job;
}

// --------------------------------------------------------------------------------------- the table

Job* Jobs::find(JobId id) {
    const auto it = jobs_.find(id);
    return it == jobs_.end() ? nullptr : it->second.get();
}

Job* Jobs::find(const std::string& name) {
    const auto it = ids_.find(name);
    return it == ids_.end() ? nullptr : find(it->second);
}

void Jobs::sweep(Job& job, const Turn& turn) {
    if (!job.has_ended(turn.now)) return;
    turn.act(JournalAppend{encode(JobEndRecord{job.id()})});
    job.end(turn);
    turn.note("job-ended", fmt::format("job {}", job.options().name));
    ids_.erase(job.options().name);
    jobs_.erase(job.id());
}

Result<> Jobs::replay(const JournalRecord& record) {
    if (const auto* created = std::get_if<JobRecord>(&record)) {
        PACE_TRY_ASSIGN(options, check(created->options));
        if (created->job == 0 || created->job == ~JobId{0}) {
            return make_error(ErrorKind::corrupt, "the journal has a job with id {}", created->job);
        }
        add(created->job, options, created->uid, created->token);
        return {};
    }
    if (const auto* ended = std::get_if<JobEndRecord>(&record)) {
        if (const Job* job = find(ended->job)) ids_.erase(job->options().name);
        jobs_.erase(ended->job);
        return {};
    }
    if (const auto* epoch = std::get_if<EpochRecord>(&record)) {
        if (Job* job = find(epoch->job)) job->replay(*epoch);
        return {};
    }
    if (const auto* placement = std::get_if<PlacementRecord>(&record)) {
        if (Job* job = find(placement->job)) job->replay(*placement);
        return {};
    }
    return {};
}

}  // namespace pace::controller
