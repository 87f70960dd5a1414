// Engine: what the controller says of single workers.
#include "base/training_events.h"
#include "daemon/jobs/engine.h"

namespace pace::daemon {

void Engine::on(const control::WorkerSuspended& suspended) {
    with_job(suspended.job, [this, &suspended](Job& found) {
        base::log_event(
            suspended.drained ? base::events::kWorkerDrained : base::events::kWorkerSuspended,
            {{"job", found.state().options.name},
             {"rank", suspended.rank},
             {"reason", suspended.reason}});
        record(suspended);
        if (suspended.drained)
            found.drain(suspended.rank, suspended.reason);
        else
            found.suspend(suspended.rank, suspended.reason);
    });
}

void Engine::on(const control::NoModel& missing) {
    const auto found = job(missing.job);
    if (!found) return;
    base::log_event(base::events::kNewcomerWithoutModel,
                    {{"job", found->state().options.name}, {"rank", missing.rank}});
    found->no_model(missing.rank);
}

void Engine::on(const control::Withdrawn& withdrawn) {
    with_job(withdrawn.job, [&withdrawn](Job& found) { found.withdrawn(withdrawn.rank); });
}

}  // namespace pace::daemon
