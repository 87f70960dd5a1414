// StreamOrder: the order between a trainer's streams on a device and ours, for the requests of one
// session. Each request has a slot, as long as it is in flight.
//
// The trainer tells when its stream has made a request's data. We tell when the request has ended,
// and the trainer's streams and threads may wait for that. Nothing of ours waits on a stream for
// the trainer: the loop looks (event_watch.h).
//
// Used only in the loop's thread. Work that is queued on streams uses the StreamOrder: it must live
// until that has ended.
#pragma once

#include <cstdint>
#include <functional>

#include "base/cuda/cuda_driver.h"
#include "base/result.h"

namespace pace::device {

class StreamOrder {
  public:
    StreamOrder() = default;
    virtual ~StreamOrder() = default;
    StreamOrder(const StreamOrder&) = delete;
    StreamOrder& operator=(const StreamOrder&) = delete;

    virtual uint32_t slots() const = 0;
    // Whether the driver does on this stream what tell() needs.
    virtual base::Result<> probe(base::cuda::CUstream stream) const = 0;
    // Calls back from the loop when the trainer's stream has made the request's data, or has
    // failed. Callbacks of one `owner` come in the order of the calls (EventWatch).
    virtual void await_data(const void* owner, uint32_t slot, uint64_t request,
                            std::function<void(const base::Result<>&)> callback) = 0;
    // The request's result is there, for the trainer, behind the work queued on the stream so far.
    virtual base::Result<> tell(uint32_t slot, uint64_t request, base::cuda::CUstream stream) = 0;
    // The request has ended without a result, behind the same work: nobody needs to wait for it.
    virtual void release(uint32_t slot, uint64_t request, base::cuda::CUstream stream) = 0;
};

}  // namespace pace::device
