// Transfer: bytes on their way between this node and one other, outside of any exchange: a result
// that one of them missed, a model for a newcomer, the residuals of a leaving node. Watched like an
// exchange, so that a cut connection ends it.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "daemon/collectives/messages/communicator.h"
#include "daemon/runtime/active.h"
#include "daemon/runtime/scratch.h"
#include "daemon/runtime/services.h"

namespace pace::daemon {

class Transfer : public Active {
  public:
    // What is being moved (`what`, for the log), and how long to wait. The transfer ends when
    // nothing has moved for `deadlines` progress deadlines. 0: it waits as long as the other node
    // answers, which may have good reasons to begin later.
    struct About {
        uint32_t job = 0;
        std::string what;
        NodeId node = 0;
        int deadlines = 0;
    };

    Transfer(Services& services, collectives::Group group, About about);

    // Called once, on a shared object. From now on a taker hears if the giver cannot give: then the
    // transfer ends with ErrorKind::memory.
    void watch(const std::shared_ptr<Transfer>& self);

    void abort(const base::Error& error) override;
    void peer_lost(transports::PeerId peer, const base::Error& error) override;
    base::Duration stalled_for(base::TimePoint now) override;
    std::vector<NodeId> waiting_for() const override { return {about_.node}; }
    uint32_t job() const override { return about_.job; }
    bool patient() const override { return about_.deadlines == 0 && !communicator.aborted(); }
    int deadlines() const override { return std::max(about_.deadlines, 1); }
    std::string what() const override { return about_.what; }

    // Logs the failure, unless this node has ended the transfer.
    void log_failure(const base::Result<>& result) const;

    Scratch memory;
    std::shared_ptr<const void> held;  // other memory that is given
    collectives::Communicator communicator;

  private:
    Services& services_;
    About about_;
};

}  // namespace pace::daemon
