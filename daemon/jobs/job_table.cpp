#include "daemon/jobs/job_table.h"

#include <algorithm>
#include <optional>

#include "base/log/log.h"
#include "base/log/training_events.h"
#include "daemon/gpu/gpu_groups.h"

namespace pace::daemon {

namespace {

// How often unused jobs are looked at again until their time has come.
constexpr int kLooksPerUnusedKeep = 6;
// How often jobs are looked at that are over, except for an exchange that soon ends.
constexpr base::Duration kEndingLook = std::chrono::milliseconds(50);

}  // namespace

std::shared_ptr<Job> JobTable::find(control::JobId id) const {
    const auto entry = by_id_.find(id);
    return entry == by_id_.end() ? nullptr : entry->second;
}

std::shared_ptr<Job> JobTable::find_unused(control::JobId id, uint64_t token) const {
    const std::shared_ptr<Job> found = find(id);
    return found && found->state().token == token && found->unused() ? found : nullptr;
}

std::shared_ptr<Job> JobTable::take_up(const control::JoinAccepted& accepted,
                                       const control::JobOptions& options, uint32_t uid,
                                       bool announced_again) {
    std::shared_ptr<Job>& job = by_name_[options.name];
    const bool is_another_run = job && !announced_again && job->state().id != accepted.job &&
                                job->state().run.began != accepted.run.began;
    if (is_another_run) {
        end_run(*job, accepted.run);
        job.reset();
    }
    if (!job) job = std::make_shared<Job>(services_, options, uid);
    std::erase_if(by_id_, [&](const auto& entry) { return entry.second == job; });
    job->state().id = accepted.job;
    job->state().token = accepted.token;
    job->state().run = accepted.run;
    by_id_[accepted.job] = job;
    remember(accepted.job, job->state());
    return job;
}

// If the job has workers here, they did not hear of the end: the daemon had no controller then.
void JobTable::end_run(Job& job, const control::Run& next) {
    const auto error = base::make_error(
        base::ErrorKind::closed,
        "the run of job \"{}\" that this worker is in is over: {} has begun under its name; "
        "open another session to take part in that one",
        job.state().options.name, next.id.empty() ? std::string("another") : next.id);
    if (!job.unused()) base::log_event(base::events::kRunOver, {{"job", job.state().options.name}});
    const auto workers = job.state().workers;
    for (const auto& [rank, worker] : workers) job.refuse(worker, error);
    job.invalidate(error);
    std::erase_if(by_id_, [&](const auto& entry) { return entry.second.get() == &job; });
}

// Remembers a job's user and name, as long as the job is known here.
void JobTable::remember(control::JobId id, const JobState& state) {
    const auto is_over = [this](const auto& entry) { return !by_id_.contains(entry.first); };
    std::erase_if(services_.users, is_over);
    std::erase_if(services_.job_names, is_over);
    services_.users[id] = state.uid;
    services_.job_names[id] = state.options.name;
    services_.recorder->name_job(id, state.options.name);
    services_.recorder->name_run(id, state.run.began);
}

void JobTable::drop_unused_later() {
    if (!timer_.pending())
        timer_ = services_.loop.run_after(services_.options.unused_keep, [this] { drop_unused(); });
}

// Each job has its own time: another job may have become unused a moment ago, in the middle of an
// exchange.
void JobTable::drop_unused() {
    const base::TimePoint now = base::now();
    const base::Duration keep = services_.options.unused_keep;
    const auto is_over = [now, keep](const auto& entry) {
        const Job& job = *entry.second;
        if (!job.unused() || job.is_exchanging()) return false;
        return job.has_ended_here() || (now - job.unused_since() >= keep && !job.keeps_shards());
    };
    std::erase_if(by_id_, is_over);
    std::erase_if(by_name_, is_over);
    if (by_name_.empty()) services_.gpu_groups.rest();
    std::optional<base::Duration> next;
    for (const auto& [name, job] : by_name_) {
        if (!job->unused()) continue;
        const base::Duration wait =
            job->has_ended_here() ? kEndingLook : keep / kLooksPerUnusedKeep;
        next = std::min(next.value_or(wait), wait);
    }
    if (next) timer_ = services_.loop.run_after(*next, [this] { drop_unused(); });
}

}  // namespace pace::daemon
