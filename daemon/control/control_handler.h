// ControlHandler: what the daemon does with what the controller says.
//
// All calls come on the loop's thread, from the link's poll(), never from within a send(). A
// handler may call the link's send() from any of them; it must not destroy the link.
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

    // The controller knows this daemon as `self`. Announce every worker again now (WorkerJoin with
    // `resume`) and everything soft: ready signals in particular. What was sent under an earlier
    // attachment may or may not have arrived.
    virtual void on_attached(control::NodeId self) = 0;

    // Until the next on_attached, sends are dropped; the link attaches again by itself. `excluded`:
    // the cluster has given this daemon up; every order, view and exchange of the old attachment is
    // void and must end now. Otherwise exchanges under way may go on.
    virtual void on_detached(bool excluded, const std::string& reason) = 0;

    // The controller does not want this daemon (another protocol version, its name is in use). Said
    // once per different error; the link asks again by itself, at least every second.
    virtual void on_refused(const base::Error& error) = 0;

    // The link has not been attached for so long, because of this; said again at growing intervals while it lasts.
    virtual void on_not_attached(const base::Error& because, base::Duration since) = 0;

    // What the next heartbeat says. `ret_heartbeat` comes empty.
    virtual void report(control::Heartbeat& ret_heartbeat) = 0;

    // What the controller says while the daemon is attached, and its answers to StatusRequests.
    virtual void on_message(const control::FromController& message) = 0;
};

}  // namespace pace::daemon
