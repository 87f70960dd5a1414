// Garbage: what a faulty trainer may write to the ring that it shares with its daemon. Nothing of
// it is a call that a daemon could take for the trainer's own: that would spoil the trainer's job.
#pragma once

#include <cstddef>
#include <span>

#include "tests/world/clockwork.h"

namespace pace::world {

// `in_call`: a request is in flight.
void write_garbage(std::span<std::byte> ring, Clockwork& clockwork, bool in_call);

}  // namespace pace::world
