// ServiceManager: what systemd is told of this process (sd_notify), and the watchdog it asks for.
// Without a service manager every call does nothing.
#pragma once

#include <functional>
#include <string>

#include "base/event_loop.h"

namespace pace::controller {

class ServiceManager {
  public:
    // From now on the watchdog is fed from the loop, if one is set: a loop that hangs is
    // restarted. `status` is asked for the line that `systemctl status` shows.
    ServiceManager(base::EventLoop& loop, std::function<std::string()> status);
    ServiceManager(const ServiceManager&) = delete;
    ServiceManager& operator=(const ServiceManager&) = delete;

    void ready();
    void stopping();

  private:
    void report();

    base::EventLoop& loop_;
    std::function<std::string()> status_;
    base::Duration interval_{};
    bool watchdog_ = false;
    base::Timer timer_;
};

}  // namespace pace::controller
