#include "service/controller/core/jobs/jobs.h"

#include <algorithm>

#include "service/controller/core/jobs/run_choice.h"
#include "service/controller/core/options/job_options.h"

namespace pace::controller {

using base::Error;
using base::ErrorKind;
using base::make_error;
using base::Result;

namespace {

// The greatest id that a daemon may bring. As many are left for jobs to come.
constexpr JobId kKnownJobMax = JobId{3} << 30U;

// The number of workers for JobLimits.
uint64_t workers_counted(const JobOptions& options) {
    return options.world + options.edges.size() / 2 / 16;
}

}  // namespace

// ---------------------------------------------------------------------------------------- creating

Job& Jobs::add(JobId id, const JobOptions& options, uint32_t uid, uint64_t token) {
    next_id_ = std::max(next_id_, id + 1);
    ids_[options.name] = id;
    auto& job = jobs_[id];
    job = std::make_unique<Job>(id, options, uid, token, cluster_);
    return *job;
}

Result<Job*> Jobs::create(const JobOptions& options, uint32_t uid, const Turn& turn,
                          JobId known_as_untrusted) {
    PACE_TRY(check_room(options, uid));
    const bool keeps_id = known_as_untrusted != 0 && known_as_untrusted <= kKnownJobMax &&
                          find(known_as_untrusted) == nullptr;
    const JobId id = keeps_id ? known_as_untrusted : next_id_;
    const uint64_t token = make_token_();
    turn.act(JournalAppend{encode(JobRecord{id, uid, token, options})});
    Job& job = add(id, options, uid, token);
    job.begin_unjoined(turn.now);
    turn.note(
        "job-created",
        fmt::format("job {}: {} workers, {}", options.name, options.world, name_of(options.policy)),
        {options.name});
    return &job;
}

Result<> Jobs::check_room(const JobOptions& options, uint32_t uid) const {
    const JobLimits& limits = cluster_.options.limits;
    uint64_t workers = workers_counted(options);
    uint64_t workers_of_user = workers;
    uint32_t jobs_of_user = 1;
    for (const auto& [id, job] : jobs_) {
        const uint64_t counted = workers_counted(job->options());
        workers += counted;
        if (job->uid() != uid) continue;
        ++jobs_of_user;
        workers_of_user += counted;
    }
    constexpr const char* kRemedy =
        "end jobs that are not needed (`pacectl job list`, `pacectl job delete`)";
    const auto full = [&](const char* what, uint64_t count, uint64_t most, const char* setting) {
        return make_error(ErrorKind::limit,
                          "job '{}' would be one too many: {} {}, and the controller's {} allows "
                          "{}; {}, or raise it",
                          options.name, count, what, setting, most, kRemedy);
    };
    if (jobs_of_user > limits.jobs_of_user)
        return full("jobs of this user", jobs_of_user, limits.jobs_of_user, "user_jobs_max");
    if (workers_of_user > limits.workers_of_user)
        return full("workers in all jobs of this user", workers_of_user, limits.workers_of_user,
                    "user_workers_max");
    if (jobs_.size() >= limits.jobs) return full("jobs", jobs_.size() + 1, limits.jobs, "jobs_max");
    if (workers > limits.workers)
        return full("workers in all jobs", workers, limits.workers, "workers_max");
    return {};
}

void Jobs::create(const From<JobCreate>& event, const Turn& turn) {
    const auto refuse = [&](Error error) {
        turn.tell(event.node, JoinRefused{event.request, std::move(error)});
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
    const Result<Job*> created = create(*options, event.uid, turn);
    if (!created) return refuse(created.error());
    const Job& job = **created;
    turn.tell(event.node, JoinAccepted{event.request, job.id(), kNoRank,
                                       protocol::write_options(job.options()), job.token(), false});
}

void Jobs::remove(const From<JobDelete>& event, const Turn& turn) {
    const std::optional<uint32_t> uid = event.uid == 0 ? std::nullopt : std::optional(event.uid);
    const auto removed = remove(event.name, uid, turn);
    if (removed)
        turn.tell(event.node, JobDeleted{event.request});
    else
        turn.tell(event.node, JoinRefused{event.request, removed.error()});
}

Result<> Jobs::remove(const std::string& name, std::optional<uint32_t> uid, const Turn& turn) {
    Job* job = find(name);
    if (job == nullptr)
        return make_error(ErrorKind::not_found,
                          "there is no job '{}'; `pacectl job list` shows all", name);
    if (uid && *uid != job->uid())
        return make_error(ErrorKind::denied,
                          "job '{}' belongs to another user; its owner and root may delete it",
                          name);
    if (job->roster().live() != 0)
        return make_error(ErrorKind::taken,
                          "{} workers are in job '{}'; stop them first: the job then ends by "
                          "itself, or can be deleted",
                          job->roster().live(), name);
    end(*job, "job-deleted", "deleted", turn);
    return {};
}

// --------------------------------------------------------------------------- what nodes still have

// The journal may have been lost, and with it all knowledge of a job that continues, or its token.
// Such a job is heard of again soon, or not at all. Later, and where the token is known not to be
// lost, a node without the job's token has nothing of the job.
void Jobs::keep(const From<JobKept>& event, const Turn& turn) {
    Job* job = find(event.job);
    const bool is_it = job != nullptr && job->token() == event.token;
    const bool forgotten =
        life_began_ && turn.now - *life_began_ >= cluster_.options.abandoned_keep;
    if (!is_it && (forgotten || ended_.contains(event.token)))
        return turn.tell(event.node, JobEnded{event.job, event.token});
    if (is_it || (job != nullptr && job->is_token_new())) job->keep(event, turn);
}

// ----------------------------------------------------------------------------------------- joining

Job* Jobs::join(const From<WorkerJoin>& event, const Turn& turn) {
    const auto refuse = [&](Error error) {
        turn.tell(event.node, JoinRefused{event.request, std::move(error)});
        return nullptr;
    };
    const Result<JobOptions> options = check(event.options);
    if (!options) return refuse(options.error());
    Result<Job*> job = admission(event, *options, turn);
    if (!job) return refuse(job.error());
    (*job)->join(event, turn);
    return *job;
}

// Returns the job that the worker may join, created if necessary, or the reason for a refusal.
// Options are as check() returns them.
Result<Job*> Jobs::admission(const From<WorkerJoin>& event, const JobOptions& options,
                             const Turn& turn) {
    if (event.rank >= options.world) {
        return make_error(ErrorKind::invalid, "rank is {}; in a world of {} use 0 to {}",
                          event.rank, options.world, options.world - 1);
    }
    Job* job = find(options.name);
    if (job == nullptr) return begin_run(options, event, 0, turn);
    if (job->uid() != event.uid) {
        return make_error(ErrorKind::denied,
                          "job '{}' belongs to another user; choose another name", options.name);
    }
    PACE_TRY_ASSIGN(choice, choose_run(event, *job, turn.now));
    if (choice == RunChoice::begins_another) return begin_another_run(options, event, *job, turn);
    if (choice == RunChoice::names_it) name_run(*job, event, job->run_before(), turn);
    if (job->roster().live() == 0 && job->is_started() &&
        (event.run.began == 0 || !job->attendance().is_gathering()))
        turn.warn("job-resumed",
                  fmt::format("job {}: rank {} goes on with {}, of which no other worker is "
                              "there; if it is to begin anew, stop it and end the old one with "
                              "`pacectl job delete {}`",
                              options.name, event.rank, text_of(job->run()), options.name),
                  {options.name, event.rank, cluster_.nodes.name_of(event.node)});
    if (options != job->options()) {
        return make_error(
            ErrorKind::mismatch,
            "job '{}' has other options: {}; join with the job's, or choose another name",
            options.name, differences(options, job->options()));
    }
    const Worker* holder = job->roster().find(event.rank);
    if (holder != nullptr && is_live(holder->state)) {
        return make_error(ErrorKind::taken,
                          "rank {} of job '{}' is held by a worker on node '{}'; use a free rank",
                          event.rank, options.name, cluster_.nodes.name_of(holder->node));
    }
    return job;
}

Result<Job*> Jobs::begin_run(const JobOptions& options, const From<WorkerJoin>& event,
                             uint64_t before, const Turn& turn) {
    PACE_TRY_ASSIGN(job, create(options, event.uid, turn, event.resume ? event.job : 0));
    name_run(*job, event, before, turn);
    return job;
}

// No worker of the job's run is left: the job ends, and the next one of its name begins.
Result<Job*> Jobs::begin_another_run(const JobOptions& options, const From<WorkerJoin>& event,
                                     Job& job, const Turn& turn) {
    const uint64_t before = job.run().began;
    turn.warn("job-rerun",
              fmt::format("job {}: the workers of {} are gone; {} begins anew, with all {} "
                          "workers",
                          options.name, text_of(job.run()), text_of(event.run), options.world),
              {options.name});
    end(job, "job-ended", "another run begins", turn);
    return begin_run(options, event, before, turn);
}

// Clocks of nodes may differ, so the start of a run that follows another is set after the other's.
void Jobs::name_run(Job& job, const From<WorkerJoin>& event, uint64_t before, const Turn& turn) {
    const uint64_t began =
        event.run.began != 0 ? event.run.began : std::max(event.opened, before + 1);
    const bool was_under_way = event.resume || event.run.began != 0;
    // This record is before the run's: a torn write that has the run has it too.
    if (was_under_way && !job.is_token_new()) {
        job.set_token_new();
        turn.act(JournalAppend{encode(NewTokenRecord{job.id()})});
    }
    job.set_run({event.run.id, began}, before);
    turn.act(JournalAppend{encode(RunRecord{job.id(), job.run(), before})});
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
    if (!job.attendance().has_ended(turn.now)) return;
    end(job, "job-ended", job.attendance().was_joined() ? "ended" : "nobody joined it in time",
        turn);
}

void Jobs::end(Job& job, const char* event, const char* why, const Turn& turn) {
    turn.act(JournalAppend{encode(JobEndRecord{job.id()})});
    job.end(turn);
    ended_.add(job.token());
    turn.note(event, fmt::format("job {}: {}", job.options().name, why), {job.options().name});
    ids_.erase(job.options().name);
    jobs_.erase(job.id());
}

void Jobs::link_lost(NodeId one, NodeId other, const Turn& turn) {
    for (const auto& [id, job] : jobs_) {
        job->on_link_lost(one, other);
        job->settle(turn);
    }
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
    if (const auto* named = std::get_if<RunRecord>(&record)) {
        if (Job* job = find(named->job)) job->set_run(named->run, named->before);
        return {};
    }
    if (const auto* ended = std::get_if<JobEndRecord>(&record)) {
        if (const Job* job = find(ended->job)) {
            ids_.erase(job->options().name);
            ended_.add(job->token());
        }
        jobs_.erase(ended->job);
        return {};
    }
    if (const auto* renewed = std::get_if<NewTokenRecord>(&record)) {
        if (Job* job = find(renewed->job)) job->set_token_new();
        return {};
    }
    if (const auto* epoch = std::get_if<EpochRecord>(&record)) {
        if (Job* job = find(epoch->job)) job->replay(*epoch);
        return {};
    }
    if (const auto* anew = std::get_if<AnewRecord>(&record)) {
        if (Job* job = find(anew->job)) job->replay(*anew);
        return {};
    }
    if (const auto* placement = std::get_if<PlacementRecord>(&record)) {
        if (Job* job = find(placement->job)) job->replay(*placement);
        return {};
    }
    return {};
}

}  // namespace pace::controller
