// EarlierGroups: groups under way that an earlier attachment's controller has ordered. That
// controller may have died, or stood still, before it had told all of a group's nodes. The nodes
// that were told would wait for the others until the progress deadline.
#pragma once

#include <memory>
#include <vector>

#include "daemon/exchange/exchange.h"
#include "daemon/members/job_state.h"

namespace pace::daemon {

class EarlierGroups {
  public:
    explicit EarlierGroups(const JobState& job) : job_(job) {}

    // Watches these exchanges, and no others. Gives up those that do not move and wait for a node
    // of which nothing was heard. Their members are ready again, and their nodes drop what still
    // comes. This is right whatever the other nodes do, as groups commit member by member.
    void watch(const std::vector<std::shared_ptr<Exchange>>& exchanges);

  private:
    void look();
    void look_later();
    void give_up(Exchange& exchange, const std::vector<NodeId>& unheard) const;

    const JobState& job_;
    std::vector<std::weak_ptr<Exchange>> watched_;
    base::Timer timer_;
};

}  // namespace pace::daemon
