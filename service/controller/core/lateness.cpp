#include "service/controller/core/lateness.h"

#include <algorithm>

#include <fmt/format.h>

namespace pace::controller {
namespace {

// Daemons say how long a worker has been busy. What is more than any worker is would not fit into a duration.
constexpr uint64_t kBusyMsMax = uint64_t{1} << 40U;

constexpr Duration kTimeoutLeast = std::chrono::seconds(30);
constexpr int kTimeoutSteps = 10;
constexpr uint64_t kComputedMostUs =
    uint64_t{1} << 50U;  // what a daemon says stays within what a Duration holds

Duration timeout_of(const Worker& worker, const JobOptions& options) {
    if (options.worker_timeout_ms != 0) return std::chrono::milliseconds(options.worker_timeout_ms);
    return std::max<Duration>(kTimeoutLeast, kTimeoutSteps * worker.steps.median());
}

// Another daemon, or one that was restarted, counts from zero.
std::chrono::microseconds computed_between(const Worker& worker, const WorkerReport& report) {
    const uint64_t from = report.computed_us < worker.computed_us ? 0 : worker.computed_us;
    return std::chrono::microseconds(std::min(report.computed_us - from, kComputedMostUs));
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
    if (sign != StepSign::signals && report.iteration > worker.iteration)
        worker.iteration = report.iteration;
    const uint64_t before = sign == StepSign::calls ? worker.calls : worker.rounds_submitted;
    const uint64_t after = sign == StepSign::calls ? report.calls : report.rounds_submitted;
    // In lockstep all steps take the same time: who sets it is told by how long each computes, which its daemon measures.
    // A heartbeat sees only whether it computes at that moment, and may see the same one of every step.
    if (sign != StepSign::signals && after > before) {
        if (worker.steps_told)
            worker.steps.add(computed_between(worker, report) / (after - before));
        worker.steps_told = true;
        worker.computed_us = report.computed_us;
    }
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
