// Engine: what the controller says of single workers.
#include "base/log/training_events.h"
#include "daemon/jobs/engine.h"
#include "daemon/jobs/records.h"

namespace pace::daemon {

void Engine::on(const control::WorkerSuspended& suspended) {
    jobs_.with(suspended.job, [this, &suspended](Job& found) {
        base::log_event(
            suspended.drained ? base::events::kWorkerDrained : base::events::kWorkerSuspended,
            {{"job", found.state().options.name},
             {"rank", suspended.rank},
             {"reason", suspended.reason}});
        record_order(*services_.recorder, suspended);
        services_.recordings->keep("suspended");
        if (suspended.drained)
            found.drain(suspended.rank, suspended.reason);
        else
            found.suspend(suspended.rank, suspended.reason, suspended.anew);
    });
}

void Engine::on(const control::NoModel& missing) {
    const auto found = jobs_.find(missing.job);
    if (!found) return;
    base::log_event(base::events::kNewcomerWithoutModel,
                    {{"job", found->state().options.name}, {"rank", missing.rank}});
    found->no_model(missing.rank);
}

void Engine::on(const control::Withdrawn& withdrawn) {
    jobs_.with(withdrawn.job, [&withdrawn](Job& found) { found.withdrawn(withdrawn.rank); });
}

}  // namespace pace::daemon
