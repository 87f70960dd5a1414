// SharedEvents: a StreamOrder by events of the driver, for trainers and drivers that have no words
// (shared_words.h): as many events in each direction as a trainer may have requests in flight.
//
// For each request, the trainer records its event of the slot behind the work that makes the data;
// we poll that event (event_watch.h). We record our event of the same slot behind the result, and
// the trainer's stream or thread waits for it. A slot's events are recorded again only for its next
// request.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "daemon/device/device.h"
#include "daemon/device/stream_order.h"

namespace pace::device {

class SharedEvents final : public StreamOrder {
  public:
    // `theirs` are handles of events that the trainer has made on the same device. Threads: any.
    // Blocks while the driver opens them. Error: not_found, if a handle cannot be opened.
    static base::Result<std::shared_ptr<SharedEvents>> open(
        Device& device, std::span<const base::cuda::CUipcEventHandle> theirs);
    // Device::release() destroys it in a thread.
    ~SharedEvents() override;

    // Handles of our events, by slot.
    const std::vector<base::cuda::CUipcEventHandle>& handles() const { return handles_; }

    uint32_t slots() const override { return static_cast<uint32_t>(theirs_.size()); }
    base::Result<> probe(base::cuda::CUstream /*stream*/) const override { return {}; }
    void await_data(const void* owner, uint32_t slot, uint64_t request,
                    std::function<void(const base::Result<>&)> callback) override;
    base::Result<> tell(uint32_t slot, uint64_t request, base::cuda::CUstream stream) override;
    // No trainer's stream waits for an event before it is told of the end.
    void release(uint32_t /*slot*/, uint64_t /*request*/,
                 base::cuda::CUstream /*stream*/) override {}

  private:
    explicit SharedEvents(Device& device) : device_(device) {}

    Device& device_;
    std::vector<base::cuda::CUevent> theirs_;
    std::vector<base::cuda::CUevent> ours_;
    std::vector<base::cuda::CUipcEventHandle> handles_;
};

}  // namespace pace::device
