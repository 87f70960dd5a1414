// KernelWay: all members of this node alone are on one GPU, whose kernel sums them in place. The
// result is queued, and there is nothing to wait for.
#pragma once

#include "daemon/exchange/run/running.h"
#include "daemon/exchange/ways/way.h"

namespace pace::daemon {

// The kernels of the GPU that has the exchange's members.
base::Result<const pace_device_plugin_table*> kernels_of(const Running& running);

class KernelWay final : public Way {
  public:
    explicit KernelWay(Running& running) : running_(running) {}

    base::Task<base::Result<bool>> is_open() override { co_return may_sum(); }
    base::Task<base::Result<>> move() override { co_return base::Result<>(); }
    base::Task<base::Result<>> commit() override;

  private:
    bool may_sum() const;

    Running& running_;
};

}  // namespace pace::daemon
