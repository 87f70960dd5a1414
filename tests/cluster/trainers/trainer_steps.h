// The common parts of the trainers that go on until they are told to stop: signals, time, and the
// outcomes that may happen when a process dies.
#pragma once

#include <cstdint>

#include "pace.h"
#include "tests/cluster/trainers/trainer_options.h"

namespace pace::cluster {

// SIGTERM means: finish, together with the others. SIGUSR1 means: leave the job in order.
void listen_to_signals();
bool told_to_finish();
bool told_to_leave();
// From now on those signals wait until next_signal() returns them.
void hold_signals();
int next_signal();

// Returns the time on the monotonic clock.
uint64_t now_us();
// Simulates the work of a step.
void compute(uint32_t duration_us);

// Returns the options for all buffers of a trainer with these options.
pace_buffer_options buffer_options(const TrainerOptions& options);

// Returns whether the worker is to take the current model and go on.
bool is_to_start_anew(pace_status status);

}  // namespace pace::cluster
