// What a daemon process needs of its surroundings: signals that stop it, and the service manager's watchdog.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/event_loop.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace pace::daemon {

// SIGINT and SIGTERM stop the loop; SIGPIPE is ignored. Call before any thread starts.
base::Result<base::UniqueFd> stop_on_signals(base::EventLoop& loop);

// Says READY, and from then on feeds the watchdog and the status line, if a service manager listens.
void notify_ready(base::EventLoop& loop, const std::function<std::string()>& status_line);
void notify_stopping();

}  // namespace pace::daemon
