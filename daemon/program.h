// Program: a daemon process's connections to the system: signals that stop it, and the service
// manager's watchdog.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/loop/event_loop.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace pace::daemon {

// SIGINT and SIGTERM stop the loop; SIGPIPE is ignored. Call before any thread starts.
base::Result<base::UniqueFd> stop_on_signals(base::EventLoop& loop);

// Reports to the service manager, if there is one.
class ServiceManager {
  public:
    ServiceManager(base::EventLoop& loop, std::function<std::string()> status_line)
        : loop_(loop), status_line_(std::move(status_line)) {}

    // Reports READY; from then on feeds the watchdog and updates the status line.
    void ready();
    static void stopping();

  private:
    void report();

    base::EventLoop& loop_;
    std::function<std::string()> status_line_;
    base::Duration interval_{};
    base::Timer timer_;
};

}  // namespace pace::daemon
