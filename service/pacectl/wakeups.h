// What wakes a command that goes on for a while: signals and ticks, as descriptors to poll.
#pragma once

#include "base/result.h"
#include "base/unique_fd.h"

namespace pace::pacectl {

// What a wake-up asks for.
enum class Wish { none, redraw, take_again, stop, end };

// Which signals, from now on, only come as wishes.
enum class Signals {
    ends,         // SIGINT, SIGTERM, SIGHUP and SIGQUIT wish the end
    of_terminal,  // those; SIGWINCH wishes a redraw, SIGTSTP to stop, SIGCONT to take the screen again
};
base::Result<base::UniqueFd> watch_signals(Signals signals);
Wish read_signals(int fd);

// The first tick comes at once. A tick wishes a redraw.
base::Result<base::UniqueFd> tick_every(double interval_s);
Wish read_ticks(int fd);

}  // namespace pace::pacectl
