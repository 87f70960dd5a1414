// What the trainers that go on until they are told share: signals, time, and what may pass when something dies.
#pragma once

#include <cstdint>

#include "pace.h"
#include "trainer_options.h"

namespace pace::cluster {

// SIGTERM: finish, together with the others; SIGUSR1: leave the job in order.
void listen_to_signals();
bool told_to_finish();
bool told_to_leave();
// From now on those signals wait until next_signal() gives them.
void hold_signals();
int next_signal();

// On the monotonic clock.
uint64_t now_us();
// The work of a step, simulated.
void compute(uint32_t duration_us);

// For all buffers of a trainer that is told so.
pace_buffer_options buffer_options(const TrainerOptions& options);

// The worker takes the current model, and goes on.
bool is_to_start_anew(pace_status status);

}  // namespace pace::cluster
