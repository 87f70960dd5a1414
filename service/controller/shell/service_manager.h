// ServiceManager: reports this process's state to systemd (sd_notify) and feeds its watchdog.
// Without a service manager every call does nothing.
#pragma once

#include <functional>
#include <string>

#include "base/loop/event_loop.h"

namespace pace::controller {

class ServiceManager {
  public:
    // Feeds the watchdog, if one is set, from the loop: systemd restarts a process whose loop
    // hangs. `status` returns the line that `systemctl status` shows.
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
