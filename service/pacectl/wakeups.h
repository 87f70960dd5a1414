// What wakes a command that goes on for a while: signals and ticks, as descriptors to poll.
#pragma once

#include "base/result.h"
#include "base/unique_fd.h"

namespace pace::pacectl {

// What a wake-up asks for.
enum class Wish { none, redraw, end };

// SIGINT and SIGTERM wish the end, SIGWINCH a redraw; they do nothing else from now on.
base::Result<base::UniqueFd> watch_signals();
Wish read_signals(int fd);

// The first tick comes at once. A tick wishes a redraw.
base::Result<base::UniqueFd> tick_every(double interval_s);
Wish read_ticks(int fd);

}  // namespace pace::pacectl
