// Wake-ups: descriptors that wake a long-running command: signals and ticks.
#pragma once

#include "base/result.h"
#include "base/unique_fd.h"

namespace pace::pacectl {

// What a wake-up asks for.
enum class Wish { none, redraw, take_again, stop, end };

// The signals that are delivered only as wishes from now on.
enum class Signals {
    ends,  // SIGINT, SIGTERM, SIGHUP and SIGQUIT: end
    // The same; also SIGWINCH: redraw, SIGTSTP: stop, SIGCONT: take the screen again.
    of_terminal,
};
base::Result<base::UniqueFd> watch_signals(Signals signals);
Wish read_signals(int fd);

// The first tick comes at once. A tick asks for a redraw.
base::Result<base::UniqueFd> tick_every(double interval_s);
Wish read_ticks(int fd);

}  // namespace pace::pacectl
