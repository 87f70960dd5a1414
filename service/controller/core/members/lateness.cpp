#include "service/controller/core/members/lateness.h"

#include <algorithm>

#include <fmt/format.h>

namespace pace::controller {
namespace {

// A bound on the busy time that daemons report, so that it fits a duration.
constexpr uint64_t kBusyMsMax = uint64_t{1} << 40U;

constexpr Duration kTimeoutLeast = std::chrono::seconds(30);
constexpr int kTimeoutSteps = 10;

Duration timeout_of(const Worker& worker, const JobOptions& options) {
    if (options.worker_timeout_ms != 0) return std::chrono::milliseconds(options.worker_timeout_ms);
    return std::max<Duration>(kTimeoutLeast, kTimeoutSteps * worker.steps.median());
}

// A daemon of the previous release counts no steps.
uint64_t steps_of(const WorkerReport& report, StepSign sign) {
    if (report.activity != Activity::unknown) return report.steps;
    return sign == StepSign::rounds ? report.rounds_submitted : report.calls;
}

// In lockstep all steps take the same time. The worker that determines it is known by how long each
// worker computes, which its daemon measures. A heartbeat sees only whether the worker computes at
// that moment, and may see the same moment of every step.
void observe_times(Worker& worker, const WorkerReport& report, StepSign sign) {
    const auto step = worker.computed.tell(steps_of(report, sign), report.computed_us);
    if (step && sign != StepSign::signals) worker.steps.add(*step);
    worker.waited.tell(report.times_called, report.waited_us);
    worker.exchanged.tell(report.times_called, report.exchanged_us);
    worker.activity = report.activity;
    worker.active = std::chrono::milliseconds(std::min(report.activity_ms, kBusyMsMax));
}

}  // namespace

StepSign step_sign_of(const JobOptions& options) {
    if (forms_groups(options.policy)) return StepSign::signals;
    const bool calls = is_partial(options) || options.policy == Policy::prague_static ||
                       family_of(options.policy) == Family::server;
    return calls ? StepSign::calls : StepSign::rounds;
}

void observe(Worker& worker, const WorkerReport& report, StepSign sign, TimePoint now) {
    if (!report.stopped) {
        worker.stopped_since.reset();
    } else if (!worker.stopped_since) {
        worker.stopped_since = now;
    }
    worker.busy_ms = std::min(report.busy_ms, kBusyMsMax);
    worker.loss = report.has_loss ? std::optional(report.loss) : std::nullopt;
    worker.samples_per_s = report.samples_per_s > 0 ? report.samples_per_s : 0;
    worker.training.tell(report.steps_done, report.steps_total, report.steps_told_us);
    worker.residual.reset();
    if (report.has_residual)
        worker.residual = KeptResidual{report.residual_bytes, report.residual_exchanges};
    if (sign != StepSign::signals && report.iteration > worker.iteration)
        worker.iteration = report.iteration;
    observe_times(worker, report, sign);
    worker.rounds_submitted = report.rounds_submitted;
    worker.calls = report.calls;
}

bool is_stopped(const Worker& worker, const CoreOptions& options, TimePoint now) {
    return worker.stopped_since && now - *worker.stopped_since >= options.stopped_wait;
}

std::optional<std::string> reason_to_suspend(const Worker& worker, const JobOptions& options,
                                             const CoreOptions& core_options, TimePoint now) {
    if (is_stopped(worker, core_options, now)) {
        return fmt::format("its process has been stopped by a signal for {:.1f} s",
                           base::to_seconds(now - *worker.stopped_since));
    }
    const Duration timeout = timeout_of(worker, options);
    if (worker.busy_ms > static_cast<uint64_t>(timeout.count() / 1'000'000)) {
        return fmt::format("it has been computing for {:.1f} s, more than {:.1f} s",
                           static_cast<double>(worker.busy_ms) / 1e3, base::to_seconds(timeout));
    }
    return std::nullopt;
}

}  // namespace pace::controller
