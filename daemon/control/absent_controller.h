// AbsentController: for tests of what a daemon does by itself.
#pragma once

#include <cstdint>

#include "daemon/control/controller.h"

namespace pace::daemon {

// A controller to which this daemon is not attached: everything that is said to it is dropped.
class AbsentController final : public Controller {
  public:
    bool attached() const override { return false; }
    std::optional<base::Error> problem() const override { return std::nullopt; }
    bool send(const control::FromDaemon& /*message*/) override {
        ++dropped_;
        return false;
    }
    bool send(const control::StatusRequest& /*message*/) override { return false; }
    bool send(const control::RecordingAsked& /*message*/) override { return false; }
    bool send(const control::RecordingMade& /*message*/) override { return false; }
    Doubt& doubt() override { return doubt_; }
    uint64_t dropped() const { return dropped_; }

  private:
    uint64_t dropped_ = 0;
    Doubt doubt_;
};

}  // namespace pace::daemon
