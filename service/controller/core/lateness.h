// Lateness: what heartbeats say of a worker, and when it is too late for the others to wait on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "service/controller/core/core.h"
#include "service/controller/core/worker.h"

namespace pace::controller {

// In what a job's steps show: ready signals (averaging), rounds, or, where rounds go on without
// those who are late and so say nothing about their steps, the calls of the worker itself.
enum class StepSign : uint8_t { signals, rounds, calls };
StepSign step_sign_of(const JobOptions& options);

// Takes the report into the worker's record.
void observe(Worker& worker, const WorkerReport& report, StepSign sign, TimePoint now);

// Its process has been stopped by a signal for as long as others have patience.
bool is_stopped(const Worker& worker, const CoreOptions& options, TimePoint now);

// Why the worker, on which a round waits, is to be suspended; none if it is to be waited for.
std::optional<std::string> reason_to_suspend(const Worker& worker, const JobOptions& options,
                                             const CoreOptions& core_options, TimePoint now);

}  // namespace pace::controller
