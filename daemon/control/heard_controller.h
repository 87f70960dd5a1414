// HeardController: a controller that answers nothing, and remembers what it is told.
#pragma once

#include <algorithm>
#include <variant>
#include <vector>

#include "daemon/control/controller.h"

namespace pace::daemon {

class HeardController final : public Controller {
  public:
    bool attached() const override { return attached_; }
    std::optional<base::Error> problem() const override { return std::nullopt; }
    bool send(const control::FromDaemon& message) override {
        said_.push_back(message);
        return attached_;
    }
    bool send(const control::StatusRequest& /*message*/) override { return false; }
    bool send(const control::RecordingAsked& /*message*/) override { return false; }
    bool send(const control::RecordingMade& /*message*/) override { return false; }
    Doubt& doubt() override { return doubt_; }

    void detach() { attached_ = false; }
    // The messages of this type since this was asked last.
    template <typename Message>
    std::vector<Message> take() {
        std::vector<Message> taken;
        std::erase_if(said_, [&taken](const control::FromDaemon& said) {
            const auto* const message = std::get_if<Message>(&said);
            if (message != nullptr) taken.push_back(*message);
            return message != nullptr;
        });
        return taken;
    }

  private:
    bool attached_ = true;
    std::vector<control::FromDaemon> said_;
    Doubt doubt_;
};

}  // namespace pace::daemon
