// Transfer: bytes on their way between this node and one other, outside of any exchange: a result that one of them missed, a model
// for a newcomer, what a leaver owed. Watched like exchanges are, so that a way that is cut ends it.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "daemon/collectives/communicator.h"
#include "daemon/exchange/active.h"
#include "daemon/exchange/scratch.h"
#include "daemon/exchange/services.h"

namespace pace::daemon {

class Transfer : public Active {
  public:
    // `what` is being moved, for the log. It ends when nothing has moved for so many progress deadlines; 0: it waits for as long
    // as the other node answers, which may have good reasons to begin later.
    struct About {
        uint32_t job = 0;
        std::string what;
        NodeId node = 0;
        int deadlines = 0;
    };

    Transfer(Services& services, collectives::Group group, About about);

    // Once, on a shared object. A taker hears from now on if the giver cannot give: then it ends with ErrorKind::memory.
    void watch(const std::shared_ptr<Transfer>& self);

    void abort(const base::Error& error) override;
    void peer_lost(transports::PeerId peer, const base::Error& error) override;
    base::Duration stalled_for(base::TimePoint now) override;
    std::vector<NodeId> waiting_for() const override { return {about_.node}; }
    uint32_t job() const override { return about_.job; }
    bool patient() const override { return about_.deadlines == 0 && !communicator.aborted(); }
    int deadlines() const override { return std::max(about_.deadlines, 1); }
    std::string what() const override { return about_.what; }

    // Unless it was ended from here.
    void log_failure(const base::Result<>& result) const;

    Scratch memory;
    std::shared_ptr<const void> held;  // other memory that is given
    collectives::Communicator communicator;

  private:
    Services& services_;
    About about_;
};

}  // namespace pace::daemon
