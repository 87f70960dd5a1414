// FlowWay: the members' contents are copied from their GPUs piece by piece while the hosts' sum
// travels, and the result goes back in the same way (device_flow.h).
#pragma once

#include <memory>
#include <vector>

#include "daemon/exchange/run/running.h"
#include "daemon/exchange/ways/way.h"
#include "daemon/gpu/device_flow.h"

namespace pace::daemon {

class FlowWay final : public Way {
  public:
    explicit FlowWay(Running& running) : running_(running) {}

    base::Task<base::Result<bool>> is_open() override;
    base::Task<base::Result<>> move() override;
    // Also queues the result to the members on GPUs, if all is well.
    base::Task<base::Result<>> settle(base::Result<> moved) override;
    base::Task<base::Result<>> commit() override { return running_.deliver(); }
    void wake() override;

  private:
    bool may_flow() const;
    bool is_on_gpu(const collectives::Recipient& recipient) const;
    base::Task<base::Result<>> pin_scratch();
    base::Task<base::Result<std::vector<DeviceFlow::Place>>> places();

    Running& running_;
    std::shared_ptr<DeviceFlow> flow_;
};

}  // namespace pace::daemon
