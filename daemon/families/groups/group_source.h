// GroupSource: whoever orders a job's groups. It is the controller (controller_orders.h), or the
// job's view by itself (static_orders.h).
#pragma once

#include <string>

#include "daemon/families/groups/group.h"

namespace pace::daemon {

class GroupSource {
  public:
    virtual ~GroupSource() = default;

    // The worker's first request is an average: its group begins, or is asked for.
    virtual void called(Worker& worker) = 0;
    // The worker waits for a group, and was behind with its buffers. Now all are made.
    virtual void caught_up(Worker& worker) = 0;
    // In words, what the worker's call waits for before its exchange begins.
    virtual std::string awaited(const Worker& worker) const = 0;

    // The group's exchange has ended at this node. What becomes of the members' calls follows.
    virtual void ended(const Group& group, const ExchangeOutcome& outcome) = 0;
    // The exchange has failed, and did not end the members' calls.
    virtual void try_again(const Group& group, const ExchangeOutcome& outcome) = 0;
};

}  // namespace pace::daemon
