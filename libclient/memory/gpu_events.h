// GpuEvents: a GpuOrder by events of the driver, for daemons and drivers that have no words
// (gpu_words.h). Each slot has two events:
//  * our event is recorded behind the work that makes the data. The daemon looks for it;
//  * the daemon's event is recorded behind the result. Our streams and threads wait for it.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "libclient/memory/gpu_order.h"

namespace pace::client {

class GpuEvents final : public GpuOrder {
  public:
    // The context must outlive the GpuEvents.
    static base::Result<std::shared_ptr<GpuEvents>> create(const base::cuda::CudaDriver& driver,
                                                           base::cuda::CUcontext context,
                                                           uint32_t slots);
    ~GpuEvents() override;

    // Our events for the daemon, and the daemon's for us. adopt() fails with `corrupt`, or as the
    // driver does.
    std::span<const std::byte> handles() const { return std::as_bytes(std::span(handles_)); }
    base::Result<> adopt(std::span<const std::byte> theirs);

    base::cuda::CUresult record(uint32_t slot, uint64_t request,
                                base::cuda::CUstream stream) override;
    void submitted(uint32_t /*slot*/, uint64_t /*request*/) override {}
    base::cuda::CUresult await_on(uint32_t slot, uint64_t request,
                                  base::cuda::CUstream stream) override;
    base::cuda::CUresult has_come(uint32_t slot, uint64_t request) override;
    bool holds_streams() const override { return false; }
    void release() override {}

  private:
    GpuEvents(const base::cuda::CudaDriver& driver, base::cuda::CUcontext context)
        : driver_(driver), context_(context) {}

    const base::cuda::CudaDriver& driver_;
    base::cuda::CUcontext context_;
    std::vector<base::cuda::CUevent> ours_;
    std::vector<base::cuda::CUevent> theirs_;
    std::vector<base::cuda::CUipcEventHandle> handles_;
};

}  // namespace pace::client
