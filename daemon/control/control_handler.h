// ControlHandler: the daemon's reactions to the controller's messages.
//
// All calls come on the loop's thread, from the link's poll(), never from within a send(). A
// handler may call the link's send(), but must not destroy the link.
#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "daemon/control/messages.h"

namespace pace::daemon {

class ControlHandler {
  public:
    virtual ~ControlHandler() = default;

    // The controller knows this daemon as `self`. The handler must now announce every worker again
    // (WorkerJoin with `resume`) and all soft state, ready signals in particular. Messages of an
    // earlier attachment may or may not have arrived.
    virtual void on_attached(control::NodeId self) = 0;

    // Until the next on_attached, sends are dropped. The link attaches again by itself. With
    // `excluded`, the cluster has given this daemon up: every order, view and exchange of the old
    // attachment is void and must end now. Otherwise running exchanges may go on.
    virtual void on_detached(bool excluded, const std::string& reason) = 0;

    // The controller refuses this daemon (another protocol version, or its name is in use). Called
    // once per different error. The link asks again by itself, at least every second.
    virtual void on_refused(const base::Error& error) = 0;

    // The link has not been attached for `since`, because of this error. Called again at growing
    // intervals while that lasts.
    virtual void on_not_attached(const base::Error& because, base::Duration since) = 0;

    // Fills in the next heartbeat. `ret_heartbeat` comes empty.
    virtual void report(control::Heartbeat& ret_heartbeat) = 0;

    // The controller's messages while the daemon is attached, and its answers to StatusRequests.
    virtual void on_message(const control::FromController& message) = 0;
};

}  // namespace pace::daemon
