#include "service/metrics/job_metrics.h"

#include <algorithm>
#include <array>

#include "service/metrics/model_metrics.h"
#include "service/metrics/worker_metrics.h"

namespace pace::metrics {

namespace {

constexpr Family kJobState{"pace_job_state", Type::gauge, "",
                           "1 for the state that the job is in."};
constexpr Family kJobWorkers{"pace_job_workers", Type::gauge, "", "The job's workers, by status."};
constexpr Family kJobSlow{"pace_job_slow_workers", Type::gauge, "",
                          "Workers whose steps take longer than the others'."};
constexpr Family kJobStopped{"pace_job_stopped_workers", Type::gauge, "",
                             "Workers whose process was stopped by a signal."};
constexpr Family kJobUnlisted{
    "pace_job_unlisted_workers", Type::gauge, "",
    "Workers that have no series of their own, because there are too many."};
constexpr Family kJobFirst{"pace_job_progress_first", Type::gauge, "",
                           "Iterations, rounds handed in, or steps pushed, of the worker that is "
                           "furthest."};
constexpr Family kJobLast{"pace_job_progress_last", Type::gauge, "",
                          "Iterations, rounds handed in, or steps pushed, of the last active "
                          "worker."};
constexpr Family kJobStep{"pace_job_step_seconds", Type::gauge, "seconds",
                          "The median of the workers' steps."};
constexpr Family kJobSamples{"pace_job_samples_per_second", Type::gauge, "",
                             "The rate of all workers together, as their trainers told last."};
constexpr Family kJobWaited{"pace_job_waited_seconds", Type::counter, "seconds",
                            "Time in which the job's workers have waited for their groups."};
constexpr Family kJobExchanged{"pace_job_exchanged_seconds", Type::counter, "seconds",
                               "Time in which the job's workers have averaged."};
constexpr Family kJobGroups{"pace_job_groups", Type::counter, "", "Groups that have averaged."};
constexpr Family kJobGroupsFailed{"pace_job_groups_failed", Type::counter, "",
                                  "Groups that were given up."};
constexpr Family kJobConflicts{"pace_job_group_conflicts", Type::counter, "",
                               "Groups that had to wait for another one."};
constexpr Family kJobGap{"pace_job_spectral_gap", Type::gauge, "",
                         "How fast models mix over the recent groups: 0 at once, 1 never."};
constexpr Family kJobComponents{"pace_job_sync_components", Type::gauge, "",
                                "Pieces of the graph of the recent groups: 1 mixes."};
constexpr Family kJobLeftOut{"pace_job_nodes_left_out", Type::gauge, "",
                             "Nodes without which the job goes on, since the network is cut."};

constexpr std::array kStatuses{"joined",    "active",  "newcomer", "late",
                               "suspended", "missing", "left",     "lost"};
constexpr std::array kStates{"joining", "running", "finished"};

// Sums over all workers of the document.
struct Sums {
    std::map<std::string, double> by_status;
    double slow = 0;
    double stopped = 0;
    double samples_per_s = 0;
    double first = 0;
    double last = 0;
    bool any_active = false;
    bool any_samples = false;
};

double progress_of(const Json& worker) {
    return std::max(number(worker, "iteration"), number(worker, "rounds_submitted"));
}

Sums sums_of(const Json& job) {
    Sums sums;
    for (const char* status : kStatuses) sums.by_status[status] = 0;
    for (const Json& worker : list(job, "workers")) {
        const auto status = sums.by_status.find(text(worker, "status"));
        if (status != sums.by_status.end()) status->second += 1;
        sums.slow += is_slow(worker) ? 1 : 0;
        sums.stopped += is_stopped(worker) ? 1 : 0;
        sums.samples_per_s += number(worker, "samples_per_s");
        sums.any_samples = sums.any_samples || has_number(worker, "samples_per_s");
        const double progress = progress_of(worker);
        sums.first = std::max(sums.first, progress);
        if (!is_active(worker)) continue;
        sums.last = sums.any_active ? std::min(sums.last, progress) : progress;
        sums.any_active = true;
    }
    // With servers, the number of steps is the number of pushes.
    const Json& model = member(job, "model");
    if (has_number(model, "fastest_clock")) {
        sums.first = number(model, "fastest_clock");
        sums.last = number(model, "slowest_clock");
        return sums;
    }
    // If the document has this field, the field covers more workers than the document lists.
    const Json& spread = member(job, "progress");
    if (has_number(member(spread, "first"), "at")) {
        sums.first = number(member(spread, "first"), "at");
        sums.last = number(member(spread, "last"), "at");
    }
    return sums;
}

void add_sums(Exposition& metrics, const Json& job, const Labels& labels) {
    const Sums sums = sums_of(job);
    for (const auto& [status, workers] : sums.by_status)
        metrics.add(kJobWorkers, labels.with("status", status), workers);
    metrics.add(kJobSlow, labels, sums.slow);
    metrics.add(kJobStopped, labels, sums.stopped);
    metrics.add(kJobFirst, labels, sums.first);
    metrics.add(kJobLast, labels, sums.last);
    if (sums.any_samples) metrics.add(kJobSamples, labels, sums.samples_per_s);
}

void add_groups(Exposition& metrics, const Json& job, const Labels& labels) {
    for (const auto& [key, family] : {std::pair("groups_completed", &kJobGroups),
                                      {"groups_failed", &kJobGroupsFailed},
                                      {"conflicts", &kJobConflicts},
                                      {"spectral_gap", &kJobGap},
                                      {"sync_components", &kJobComponents}})
        if (has_number(job, key)) metrics.add(*family, labels, number(job, key));
    if (has_number(member(job, "waited"), "total_s"))
        metrics.add(kJobWaited, labels, number(member(job, "waited"), "total_s"));
    if (has_number(member(job, "exchanged"), "total_s"))
        metrics.add(kJobExchanged, labels, number(member(job, "exchanged"), "total_s"));
}

std::string node_of(const Json& worker, const std::map<uint64_t, std::string>& node_names) {
    const Json& id = member(worker, "node");
    if (id.is_number_unsigned()) {
        const auto found = node_names.find(id.get<uint64_t>());
        if (found != node_names.end()) return found->second;
    }
    return text(worker, "node");
}

}  // namespace

std::string state_of_job(const Json& job) {
    std::string state = text(job, "state");
    if (!state.empty()) return state;
    return truth(job, "started") ? "running" : "joining";
}

void add_job(Exposition& metrics, const Json& job,
             const std::map<uint64_t, std::string>& node_names, size_t& workers_left) {
    const std::string name = text(job, "name");
    const Labels labels{{"pace_job", name}};
    const std::string state = state_of_job(job);
    for (const char* possible : kStates)
        metrics.add(kJobState, labels.with("state", possible), state == possible ? 1 : 0);
    metrics.add(kJobStep, labels, number(job, "step_median_ms") / 1000);
    metrics.add(kJobLeftOut, labels, static_cast<double>(list(job, "left_out").size()));
    add_sums(metrics, job, labels);
    add_groups(metrics, job, labels);
    if (const Json& model = member(job, "model"); model.is_object())
        add_model(metrics, model, labels);
    const Json& workers = list(job, "workers");
    const size_t listed = std::min(workers.size(), workers_left);
    workers_left -= listed;
    for (size_t i = 0; i < listed; ++i)
        add_worker(metrics, workers[i],
                   {{"pace_job", name},
                    {"rank", text(workers[i], "rank")},
                    {"node", node_of(workers[i], node_names)}});
    metrics.add(kJobUnlisted, labels,
                static_cast<double>(workers.size() - listed) + number(job, "workers_left_out"));
}

}  // namespace pace::metrics
