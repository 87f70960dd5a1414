// Active: an exchange under way with other nodes, as the engine's watch over progress sees it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "daemon/runtime/peers.h"
#include "transports/transport.h"

namespace pace::daemon {

class Active {
  public:
    Active() = default;
    Active(const Active&) = delete;
    Active& operator=(const Active&) = delete;
    virtual ~Active() = default;

    // Ends the exchange with `error`, unless it already commits.
    virtual void abort(const base::Error& error) = 0;
    virtual void peer_lost(transports::PeerId peer, const base::Error& error) = 0;

    // Called a few times a second: for how long nothing has moved that ought to move.
    virtual base::Duration stalled_for(base::TimePoint now) = 0;
    // The nodes that the exchange waits for.
    virtual std::vector<NodeId> waiting_for() const = 0;

    virtual uint32_t job() const = 0;
    // Whether the exchange waits for workers that have not called yet. Then only the controller
    // judges who is late. An exchange whose members have all called is not patient: it is given up
    // when it does not move. Neither is an aborted one, which only waits for what it has begun to
    // send.
    virtual bool patient() const = 0;
    // An exchange that is not patient is given up after this many progress deadlines without
    // movement.
    virtual int deadlines() const { return 1; }
    // In words, for the log: "round 12".
    virtual std::string what() const = 0;

    // When the watch gave the exchange up, and when it last logged the wait.
    base::TimePoint given_up{};
    base::TimePoint logged{};
};

}  // namespace pace::daemon
