// NcclWay: the members of all nodes are on GPUs, and the sum goes from GPU to GPU (gpu_sum.h). The
// nodes agree on that.
#pragma once

#include <memory>

#include "daemon/exchange/run/running.h"
#include "daemon/exchange/ways/way.h"
#include "daemon/gpu/gpu_sum.h"

namespace pace::daemon {

class NcclWay final : public Way {
  public:
    explicit NcclWay(Running& running) : running_(running) {}

    base::Task<base::Result<bool>> is_open() override;
    base::Task<base::Result<>> move() override;
    // Among this node's own GPUs a failure loses nothing that the host could not sum.
    bool gives_way() override;
    base::Task<base::Result<>> commit() override;
    void end() override;
    void abort(const base::Error& error) override;
    std::optional<base::TimePoint> silent_since() const override;
    base::Duration overdue(base::TimePoint now) const override;
    std::unique_ptr<DeviceResult> take_result() override;

  private:
    bool may_go() const;
    base::Task<base::Result<bool>> meet();
    base::Task<GpuCard> card();
    base::Task<base::Result<>> take_scratch();

    Running& running_;
    std::shared_ptr<GpuSum> sum_;  // while the sum may still go this way
};

}  // namespace pace::daemon
