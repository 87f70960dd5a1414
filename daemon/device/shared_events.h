// SharedEvents: as many events in each direction as a trainer may have requests in flight.
//
// The trainer records its event of a slot after it has queued the work that makes the data; we ask until it has come (event_watch.h). We
// record ours of the same slot behind the result; the trainer's stream, or its thread, waits for that. A slot's events are recorded anew
// only with its next request.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/result.h"
#include "daemon/device/device.h"

namespace pace::device {

class SharedEvents {
  public:
    // `theirs` are of events that the trainer has made on the same device. Fails with `corrupt` if they open none.
    static base::Result<SharedEvents> open(Device& device,
                                           std::span<const base::cuda::CUipcEventHandle> theirs);
    SharedEvents(SharedEvents&& other) noexcept;
    SharedEvents& operator=(SharedEvents&& other) noexcept;
    ~SharedEvents();

    size_t size() const { return theirs_.size(); }
    // Of ours, in the order of the slots.
    const std::vector<base::cuda::CUipcEventHandle>& handles() const { return handles_; }

    // It comes when the trainer's work before its request has ended (EventWatch).
    base::cuda::CUevent theirs(size_t slot) const { return theirs_.at(slot); }
    // What is queued on the stream by now is what the trainer waits for.
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
