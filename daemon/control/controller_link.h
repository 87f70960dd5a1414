// ControllerLink: the daemon's end of the control plane.
//
// It attaches to the controller under a random attachment number, keeps the attachment alive with
// heartbeats (each of which the controller answers), and attaches again under a new number as soon
// as it learns that the old one is void: the controller says so, a message could not be handed to
// the connection, or nothing has come from the controller for `silence_max`. Nothing is ever queued
// for a controller that is not there: what is said while detached is dropped, and said again by the
// handler in on_attached.
//
// Everything runs on the event loop's thread and nothing blocks. This folder is the only place of
// the daemon that knows ZeroMQ.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "base/event_loop.h"
#include "base/result.h"
#include "daemon/control/clock_offset.h"
#include "daemon/control/control_handler.h"
#include "daemon/control/controller_link_config.h"
#include "daemon/control/doubt.h"
#include "daemon/control/messages.h"

namespace pace::daemon {

class ControllerLink final : private base::Poller {
  public:
    // Begins to attach at once; the handler hears nothing before the loop's next turn. `loop` and
    // `handler` must outlive the link. Fails on a bad endpoint, name or key file; a controller that
    // is not there is no failure.
    static base::Result<std::unique_ptr<ControllerLink>> create(base::EventLoop& loop,
                                                                ControllerLinkConfig config,
                                                                ControlHandler& handler);
    ~ControllerLink() override;
    ControllerLink(const ControllerLink&) = delete;
    ControllerLink& operator=(const ControllerLink&) = delete;

    bool attached() const;
    control::NodeId self() const;  // 0 while not attached

    // False until the controller has spoken, and from the moment a silence or a broken connection
    // was noticed until it speaks again.
    bool controller_reachable() const;

    // Why the link is not attached; none while it is, or as long as nothing is known.
    std::optional<base::Error> problem() const;

    // Hands one message to the connection. False if it was dropped since the link is not attached, or just lost its connection;
    // on_detached then follows, or has been called already.
    bool send(const control::FromDaemon& message);

    // Needs no attachment, only a controller that is connected.
    bool send(const control::StatusRequest& message);

    // The last message: the controller forgets this node at once instead of missing it. The link
    // does not attach again afterwards.
    bool send(const control::Goodbye& message);

    // Whether the cluster may have gone on without this node. If it has, the handler hears of it before the doubt is over. None before
    // the first attachment.
    Doubt& doubt();

    // How the controller's clock stands to this node's; none as long as nothing is known.
    std::optional<ClockOffset::Reading> clock() const;

    // A heartbeat now rather than at the next interval; used when something in it has changed.
    bool send_heartbeat();

    struct Counters {
        uint64_t sent = 0;
        uint64_t received = 0;
        uint64_t dropped = 0;    // sends while not attached
        uint64_t malformed = 0;  // messages that did not verify, or made no sense
        uint64_t stale = 0;      // messages of another attachment
        uint64_t attachments = 0;
        base::Duration heartbeat_late{};  // by how much the one that was latest came too late
    };
    const Counters& counters() const;

  private:
    struct State;
    explicit ControllerLink(std::unique_ptr<State> state);

    bool poll() override;
    bool arm() override;

    std::unique_ptr<State> state_;
};

}  // namespace pace::daemon
