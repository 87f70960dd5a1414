// SharedEvents: as many events in each direction as a trainer may have requests in flight.
//
// For each request, the trainer records its event of the slot behind the work that makes the data;
// we poll that event (event_watch.h). We record our event of the same slot behind the result, and
// the trainer's stream or thread waits for it. A slot's events are recorded again only for its next
// request.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/result.h"
#include "daemon/device/device.h"

namespace pace::device {

class SharedEvents {
  public:
    // `theirs` are handles of events that the trainer has made on the same device. Error: corrupt,
    // if a handle cannot be opened.
    static base::Result<SharedEvents> open(Device& device,
                                           std::span<const base::cuda::CUipcEventHandle> theirs);
    SharedEvents(SharedEvents&& other) noexcept;
    SharedEvents& operator=(SharedEvents&& other) noexcept;
    ~SharedEvents();

    size_t size() const { return theirs_.size(); }
    // Handles of our events, by slot.
    const std::vector<base::cuda::CUipcEventHandle>& handles() const { return handles_; }

    // The event behind the trainer's work before its request (for EventWatch).
    base::cuda::CUevent theirs(size_t slot) const { return theirs_.at(slot); }
    // Records our event behind the work queued on the stream so far; the trainer waits for it.
    base::Result<> record_ours(size_t slot, base::cuda::CUstream stream) const;

  private:
    explicit SharedEvents(Device& device) : device_(&device) {}
    void release();

    Device* device_ = nullptr;  // null: moved from
    std::vector<base::cuda::CUevent> theirs_;
    std::vector<base::cuda::CUevent> ours_;
    std::vector<base::cuda::CUipcEventHandle> handles_;
};

}  // namespace pace::device
