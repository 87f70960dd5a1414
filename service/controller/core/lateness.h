// Lateness: what heartbeats say of a worker, and when it is too late for the others to wait on.
#pragma once

#include <optional>
#include <string>

#include "service/controller/core/core.h"
#include "service/controller/core/worker.h"

namespace pace::controller {

// Takes the report into the worker's record. `measure_steps`: the job's steps show in its rounds,
// not in ready signals.
void observe(Worker& worker, const WorkerReport& report, bool measure_steps, TimePoint now);

// Why the worker, on which a round waits, is to be suspended; none if it is to be waited for.
std::optional<std::string> reason_to_suspend(const Worker& worker, const JobOptions& options,
                                             const CoreOptions& core_options, TimePoint now);

}  // namespace pace::controller
