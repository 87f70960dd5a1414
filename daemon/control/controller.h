// Controller: what the jobs of a daemon may say to the controller, and ask about it. The link is
// one (controller_link.h); a test may be another.
#pragma once

#include <optional>

#include "base/result.h"
#include "daemon/control/doubt.h"
#include "daemon/control/messages.h"

namespace pace::daemon {

class Controller {
  public:
    virtual ~Controller() = default;

    virtual bool attached() const = 0;

    // Why this daemon is not attached. None while it is attached, or while the reason is unknown.
    virtual std::optional<base::Error> problem() const = 0;

    // Queues one message. Returns false if it was dropped because this daemon is not attached or
    // has just lost its connection. on_detached then follows, or has been called already.
    virtual bool send(const control::FromDaemon& message) = 0;

    // Needs no attachment, only a connected controller.
    virtual bool send(const control::StatusRequest& message) = 0;

    // For another node's recording. Which answer was seen last is filled in here.
    virtual bool send(const control::RecordingAsked& message) = 0;
    virtual bool send(const control::RecordingMade& message) = 0;

    // Whether the cluster may have gone on without this node. If it has, the handler learns it
    // before the doubt ends. There is no doubt before the first attachment.
    virtual Doubt& doubt() = 0;
};

}  // namespace pace::daemon
