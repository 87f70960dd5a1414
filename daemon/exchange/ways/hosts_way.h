// HostsWay: the nodes' hosts exchange. The members' contents are in host memory, or are copied
// there first; the result is copied to the members from there.
#pragma once

#include "daemon/collectives/layout/flow.h"
#include "daemon/exchange/run/running.h"
#include "daemon/exchange/ways/way.h"

namespace pace::daemon {

// What the plan says, between the hosts' memories. `flow`: null unless parts arrive from GPUs
// meanwhile.
base::Task<base::Result<>> move_by_hosts(Running& running, collectives::Flow* flow);

class HostsWay final : public Way {
  public:
    explicit HostsWay(Running& running) : running_(running) {}

    base::Task<base::Result<bool>> is_open() override { co_return true; }
    base::Task<base::Result<>> move() override;
    base::Task<base::Result<>> commit() override { return running_.deliver(); }

  private:
    Running& running_;
};

}  // namespace pace::daemon
