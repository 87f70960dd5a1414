#include "service/metrics/worker_metrics.h"

namespace pace::metrics {

namespace {

constexpr Family kWorkerIteration{"pace_worker_iteration", Type::gauge, "",
                                  "The worker's own step."};
constexpr Family kWorkerRounds{"pace_worker_rounds", Type::gauge, "",
                               "Rounds that the worker has handed in."};
constexpr Family kWorkerStep{"pace_worker_step_seconds", Type::gauge, "seconds",
                             "The median of the worker's latest steps."};
constexpr Family kWorkerActive{"pace_worker_active", Type::gauge, "",
                               "1 if the worker is a member of its job and not suspended."};
constexpr Family kWorkerStopped{"pace_worker_stopped", Type::gauge, "",
                                "1 if the worker's process was stopped by a signal."};
constexpr Family kWorkerUnreachable{"pace_worker_unreachable", Type::gauge, "",
                                    "1 if the worker's daemon is not heard."};
constexpr Family kWorkerWaiting{"pace_worker_waiting", Type::gauge, "",
                                "1 if the worker waits for others now."};
constexpr Family kWorkerActivity{"pace_worker_activity_seconds", Type::gauge, "seconds",
                                 "For how long the worker has done what it does now."};
constexpr Family kWorkerSlow{
    "pace_worker_slow_factor", Type::gauge, "",
    "How many times as long as the others' its steps take; 1 if it does not "
    "stand out."};
constexpr Family kWorkerWaited{"pace_worker_waited_seconds", Type::counter, "seconds",
                               "Time in which the worker has waited for others."};
constexpr Family kWorkerExchanged{"pace_worker_exchanged_seconds", Type::counter, "seconds",
                                  "Time in which the worker has exchanged."};
constexpr Family kWorkerComputed{"pace_worker_computed_seconds", Type::counter, "seconds",
                                 "Time in which the worker has computed."};
constexpr Family kWorkerLoss{"pace_worker_loss", Type::gauge, "",
                             "As the worker's trainer told last."};
constexpr Family kWorkerSamples{"pace_worker_samples_per_second", Type::gauge, "",
                                "As the worker's trainer told last."};

void add_times(Exposition& metrics, const Json& worker, const Labels& labels) {
    for (const auto& [key, family] : {std::pair("waited", &kWorkerWaited),
                                      {"exchanged", &kWorkerExchanged},
                                      {"computed", &kWorkerComputed}}) {
        const Json& spent = member(worker, key);
        if (has_number(spent, "total_s")) metrics.add(*family, labels, number(spent, "total_s"));
    }
}

void add_activity(Exposition& metrics, const Json& worker, const Labels& labels) {
    const std::string activity = text(worker, "activity");
    if (activity.empty()) return;
    metrics.add(kWorkerStopped, labels, is_stopped(worker) ? 1 : 0);
    metrics.add(kWorkerUnreachable, labels, activity == "unreachable" ? 1 : 0);
    metrics.add(kWorkerWaiting, labels, activity == "waiting" ? 1 : 0);
    metrics.add(kWorkerActivity, labels, number(worker, "activity_s"));
    metrics.add(kWorkerSlow, labels,
                is_slow(worker) ? number(member(worker, "slow"), "factor") : 1);
}

}  // namespace

bool is_active(const Json& worker) {
    return text(worker, "status") == "active";
}

bool is_stopped(const Json& worker) {
    return text(worker, "activity") == "stopped";
}

bool is_slow(const Json& worker) {
    return has_number(member(worker, "slow"), "factor");
}

void add_worker(Exposition& metrics, const Json& worker, const Labels& labels) {
    metrics.add(kWorkerIteration, labels, number(worker, "iteration"));
    metrics.add(kWorkerRounds, labels, number(worker, "rounds_submitted"));
    metrics.add(kWorkerStep, labels, number(worker, "step_median_ms") / 1000);
    metrics.add(kWorkerActive, labels, is_active(worker) ? 1 : 0);
    add_activity(metrics, worker, labels);
    add_times(metrics, worker, labels);
    if (has_number(worker, "loss")) metrics.add(kWorkerLoss, labels, number(worker, "loss"));
    if (has_number(worker, "samples_per_s"))
        metrics.add(kWorkerSamples, labels, number(worker, "samples_per_s"));
}

}  // namespace pace::metrics
