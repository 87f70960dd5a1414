#include "service/controller/shell/service_manager.h"

#include <systemd/sd-daemon.h>

#include <algorithm>
#include <utility>

namespace pace::controller {

namespace {

constexpr base::Duration kStatusInterval = std::chrono::seconds(5);

}  // namespace

ServiceManager::ServiceManager(base::EventLoop& loop, std::function<std::string()> status)
    : loop_(loop), status_(std::move(status)), interval_(kStatusInterval) {
    uint64_t watchdog_us = 0;
    watchdog_ = sd_watchdog_enabled(0, &watchdog_us) > 0;
    if (watchdog_) {
        // Twice within the limit, as sd_watchdog_enabled(3) advises.
        interval_ = std::min<base::Duration>(interval_, std::chrono::microseconds(watchdog_us) / 2);
    }
}

void ServiceManager::ready() {
    sd_notify(0, "READY=1");
    report();
}

void ServiceManager::stopping() {
    sd_notify(0, "STOPPING=1");
}

void ServiceManager::report() {
    sd_notifyf(0, "%sSTATUS=%s", watchdog_ ? "WATCHDOG=1\n" : "", status_().c_str());
    timer_ = loop_.run_after(interval_, [this] { report(); });
}

}  // namespace pace::controller
