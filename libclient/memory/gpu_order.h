// GpuOrder: the order between this process's streams on one GPU and the streams of one daemon. Each
// request has a slot while it is in flight, and a number; the numbers of a slot's requests grow.
//
// The context of the GPU must be current, except for release(). Not thread-safe: the session locks.
#pragma once

#include <cstdint>

#include "base/cuda/cuda_driver.h"

namespace pace::client {

class GpuOrder {
  public:
    GpuOrder() = default;
    virtual ~GpuOrder() = default;
    GpuOrder(const GpuOrder&) = delete;
    GpuOrder& operator=(const GpuOrder&) = delete;

    // The request's data is there behind the work that is queued on the stream by now.
    virtual base::cuda::CUresult record(uint32_t slot, uint64_t request,
                                        base::cuda::CUstream stream) = 0;
    // The daemon has got the request, and tells of its end.
    virtual void submitted(uint32_t slot, uint64_t request) = 0;
    // The stream waits until the daemon's streams have told of the request's end. kNotReady: not
    // yet; ask again soon.
    virtual base::cuda::CUresult await_on(uint32_t slot, uint64_t request,
                                          base::cuda::CUstream stream) = 0;
    // Whether they have told. kNotReady: not yet.
    virtual base::cuda::CUresult has_come(uint32_t slot, uint64_t request) = 0;
    // Whether a stream can wait for a request that is in flight. Otherwise it can wait only for one
    // whose completion is here.
    virtual bool holds_streams() const = 0;
    // The daemon is gone, or the session: streams that wait go on. Called once or more.
    virtual void release() = 0;
};

}  // namespace pace::client
