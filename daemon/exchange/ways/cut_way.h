// CutWay: a top-k reduction whose gradient and residual are on the GPU that has the members'
// buffers. Only the chosen elements pass through the hosts (device_gradient.h).
#pragma once

#include <memory>

#include "daemon/exchange/run/running.h"
#include "daemon/exchange/ways/way.h"
#include "daemon/gpu/device_gradient.h"

namespace pace::daemon {

class CutWay final : public Way {
  public:
    explicit CutWay(Running& running) : running_(running) {}

    // This node decides alone: other nodes get the same entries either way. If the way is closed,
    // the residual is on the host now.
    base::Task<base::Result<bool>> is_open() override;
    base::Task<base::Result<>> move() override;
    base::Task<base::Result<>> commit() override;
    void end() override;
    bool is_working() const override { return gradient_ && gradient_->is_working(); }
    std::unique_ptr<DeviceResult> take_result() override;

  private:
    bool may_cut() const;
    sparse::Residual& residual() const;
    base::Task<base::Result<>> place();
    base::Task<> bring_back();

    Running& running_;
    std::shared_ptr<DeviceGradient> gradient_;
    std::shared_ptr<device::DeviceMemory> result_;
};

}  // namespace pace::daemon
