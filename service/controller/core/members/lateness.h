// Lateness: what heartbeats tell about a worker, and when the others stop waiting for it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "service/controller/core/members/worker.h"
#include "service/controller/vocabulary/core_options.h"

namespace pace::controller {

// What shows a job's steps: ready signals (averaging), or rounds. If rounds continue without late
// workers, rounds say nothing about a late worker's steps; its own calls do.
enum class StepSign : uint8_t { signals, rounds, calls };
StepSign step_sign_of(const JobOptions& options);

// Updates the worker's record from the report.
void observe(Worker& worker, const WorkerReport& report, StepSign sign, TimePoint now);

// Whether a signal has stopped the worker's process for longer than the others wait.
bool is_stopped(const Worker& worker, const CoreOptions& options, TimePoint now);

// Why to suspend a worker for which a round waits; none if the round is to wait on.
std::optional<std::string> reason_to_suspend(const Worker& worker, const JobOptions& options,
                                             const CoreOptions& core_options, TimePoint now);

}  // namespace pace::controller
