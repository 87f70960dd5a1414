#include "daemon/device/shared_events.h"

#include <utility>

namespace pace::device {

using base::ErrorKind;
using base::Result;
using namespace base::cuda;  // the driver's own names

Result<SharedEvents> SharedEvents::open(Device& device, std::span<const CUipcEventHandle> theirs) {
    const CudaDriver& driver = device.driver();
    const ContextScope scope = device.enter();
    SharedEvents events(device);
    for (const CUipcEventHandle& handle : theirs) {
        CUevent their = nullptr;
        if (const CUresult opened = driver.ipc_open_event_handle(&their, handle);
            opened != kSuccess)
            return base::make_error(
                ErrorKind::corrupt, "{}",
                driver.error(opened, "open an event of the trainer's on " + device.facts().id())
                    .message);
        events.theirs_.push_back(their);
        CUevent our = nullptr;
        PACE_TRY(driver.check(driver.event_create(&our, kEventDisableTiming | kEventInterprocess),
                              "make an event to share"));
        events.ours_.push_back(our);
        PACE_TRY(driver.check(driver.ipc_get_event_handle(&events.handles_.emplace_back(), our),
                              "share an event"));
    }
    return events;
}

Result<> SharedEvents::record_ours(size_t slot, CUstream stream) const {
    const ContextScope scope = device_->enter();
    return device_->check(device_->driver().event_record(ours_.at(slot), stream),
                          "tell the trainer's stream");
}

SharedEvents::SharedEvents(SharedEvents&& other) noexcept {
    *this = std::move(other);
}

SharedEvents& SharedEvents::operator=(SharedEvents&& other) noexcept {
    if (this == &other) return *this;
    release();
    device_ = std::exchange(other.device_, nullptr);
    theirs_ = std::move(other.theirs_);
    ours_ = std::move(other.ours_);
    handles_ = std::move(other.handles_);
    return *this;
}

SharedEvents::~SharedEvents() {
    release();
}

void SharedEvents::release() {
    if (device_ == nullptr) return;
    const ContextScope scope = device_->enter();
    for (CUevent event : theirs_) (void)device_->driver().event_destroy(event);
    for (CUevent event : ours_) (void)device_->driver().event_destroy(event);
}

}  // namespace pace::device
