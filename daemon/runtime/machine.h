// Machine: what this node has of memory and GPUs, as the controller is told of it.
//
// A GPU's driver may take long to answer. So a thread of its own looks, once in kLookEvery at most,
// and a heartbeat tells what it has found by then.
#pragma once

#include <memory>
#include <mutex>
#include <optional>

#include "base/clock.h"
#include "base/threads/background_thread.h"
#include "daemon/control/messages.h"
#include "daemon/device/devices.h"

namespace pace::daemon {

class Machine {
  public:
    static constexpr base::Duration kLookEvery = std::chrono::seconds(1);

    // `gpus` may be null, and outlives this.
    explicit Machine(const device::Devices* gpus) : gpus_(gpus) {}

    // Called with each heartbeat. What has been found since the one before; empty: nothing. The
    // next look begins when it is due. Does not block.
    control::MachineReport report(base::TimePoint now);

  private:
    // Shared with the thread.
    struct Found {
        std::mutex mutex;
        std::optional<control::MachineReport> report;
    };

    void look();

    const device::Devices* gpus_;
    std::shared_ptr<Found> found_ = std::make_shared<Found>();
    std::optional<base::TimePoint> looked_;
    bool is_looking_ = false;
    base::BackgroundThread thread_;  // last: it ends first
};

}  // namespace pace::daemon
