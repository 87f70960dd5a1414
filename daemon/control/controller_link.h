// ControllerLink: the daemon's end of the control plane.
//
// It attaches to the controller under a random attachment number and keeps the attachment alive
// with heartbeats, each of which the controller answers. It attaches again under a new number as
// soon as it learns that the old one is void: the controller says so, a message could not be
// queued, or nothing has come from the controller for `silence_max`. Nothing is queued for an
// absent controller: messages sent while detached are dropped, and the handler sends them again in
// on_attached.
//
// Everything runs on the event loop's thread, and nothing blocks. Within the daemon, only this
// folder knows ZeroMQ.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "base/loop/event_loop.h"
#include "base/result.h"
#include "daemon/control/clock_offset.h"
#include "daemon/control/control_handler.h"
#include "daemon/control/controller.h"
#include "daemon/control/controller_link_config.h"
#include "daemon/control/doubt.h"
#include "daemon/control/messages.h"

namespace pace::daemon {

class ControllerLink final : public Controller, private base::Poller {
  public:
    // `loop` must outlive the link. Fails on a bad endpoint, name or key file.
    static base::Result<std::unique_ptr<ControllerLink>> create(base::EventLoop& loop,
                                                                ControllerLinkConfig config);
    // Begins to attach. To be called once. The handler is not called before the loop's next turn;
    // it must outlive the link, or be alive whenever the loop turns. Succeeds if the controller is
    // absent.
    base::Result<> begin(ControlHandler& handler);
    ~ControllerLink() override;
    ControllerLink(const ControllerLink&) = delete;
    ControllerLink& operator=(const ControllerLink&) = delete;

    bool attached() const override;
    std::optional<base::Error> problem() const override;
    control::NodeId self() const;  // 0 while not attached

    // False until the controller has sent something, and from a silence or broken connection until
    // it sends again.
    bool controller_reachable() const;

    bool send(const control::FromDaemon& message) override;
    bool send(const control::StatusRequest& message) override;
    bool send(const control::RecordingAsked& message) override;
    bool send(const control::RecordingMade& message) override;

    // The last message: the controller forgets this node at once instead of waiting for its
    // silence. The link does not attach again afterwards.
    bool send(const control::Goodbye& message);

    Doubt& doubt() override;

    // The offset of the controller's clock from this node's; none while unknown.
    std::optional<ClockOffset::Reading> clock() const;

    // Sends a heartbeat now rather than at the next interval, because its content has changed.
    bool send_heartbeat();

    struct Counters {
        uint64_t sent = 0;
        uint64_t received = 0;
        uint64_t dropped = 0;    // sends while not attached
        uint64_t malformed = 0;  // messages that did not verify, or made no sense
        uint64_t stale = 0;      // messages of another attachment
        uint64_t attachments = 0;
        // The latest that a heartbeat was behind its time.
        base::Duration heartbeat_late{};
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
