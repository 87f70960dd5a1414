// Active: an exchange under way with other nodes, as the engine sees it, which watches over its progress.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "daemon/exchange/peers.h"
#include "transports/transport.h"

namespace pace::daemon {

class Active {
  public:
    Active() = default;
    Active(const Active&) = delete;
    Active& operator=(const Active&) = delete;
    virtual ~Active() = default;

    // Ends it with `error` unless it commits already.
    virtual void abort(const base::Error& error) = 0;
    virtual void peer_lost(transports::PeerId peer, const base::Error& error) = 0;

    // Called a few times a second: how long nothing has moved that ought to, and with whom.
    virtual base::Duration stalled_for(base::TimePoint now) = 0;
    virtual std::vector<NodeId> waiting_for() const = 0;

    virtual uint32_t job() const = 0;
    // Whether it waits for whoever has not called yet, so that only the controller judges who is late; one whose members have
    // all called is given up when it does not move. So is one that was aborted: it only waits for what it has begun to send.
    virtual bool patient() const = 0;
    // One that is not patient is given up when nothing has moved for so many progress deadlines.
    virtual int deadlines() const { return 1; }
    // In words, for the log: "round 12".
    virtual std::string what() const = 0;

    // What the watch has done about it.
    base::TimePoint given_up{};
    base::TimePoint logged{};
};

}  // namespace pace::daemon
