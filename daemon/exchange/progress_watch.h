// ProgressWatch: looks after exchanges with other nodes, as long as there are any.
//
// A node that an exchange waits for is suspected after a moment (peer_watch.h), recorded, and named
// in the log after a while. An exchange in which nothing has moved for progress_deadline is
// reported to the controller. If all its members have called, it is also given up. If it does not
// end then, a peer does not take what it has asked for, and the connection to that peer begins
// anew.
#pragma once

#include <vector>

#include "base/clock.h"
#include "base/loop/event_loop.h"
#include "daemon/exchange/peer_watch.h"
#include "daemon/runtime/services.h"

namespace pace::daemon {

class ProgressWatch {
  public:
    // Both must outlive the watch.
    ProgressWatch(Services& services, PeerWatch& peer_watch);
    ~ProgressWatch();
    ProgressWatch(const ProgressWatch&) = delete;
    ProgressWatch& operator=(const ProgressWatch&) = delete;

  private:
    void look_later();
    void look();
    std::vector<NodeId> look_at(Active& exchange, base::TimePoint now);
    void connect_anew(NodeId node);
    void record_wait(const Active& exchange, base::Duration stalled_for,
                     const std::vector<NodeId>& nodes) const;
    void log_wait(Active& exchange, base::Duration stalled_for,
                  const std::vector<NodeId>& nodes) const;

    Services& services_;
    PeerWatch& peer_watch_;
    base::Timer timer_;
};

}  // namespace pace::daemon
