#include "daemon/device/shared_events.h"

#include <utility>

namespace pace::device {

using base::ErrorKind;
using base::Result;
using namespace base::cuda;  // the driver's own names

Result<std::shared_ptr<SharedEvents>> SharedEvents::open(Device& device,
                                                         std::span<const CUipcEventHandle> theirs) {
    const CudaDriver& driver = device.driver();
    const ContextScope scope = device.enter();
    std::shared_ptr<SharedEvents> events(new SharedEvents(device));
    for (const CUipcEventHandle& handle : theirs) {
        CUevent their = nullptr;
        if (const CUresult opened = driver.ipc_open_event_handle(&their, handle);
            opened != kSuccess)
            return base::make_error(
                ErrorKind::not_found,
                "{}; a driver without words for streams (before CUDA 11.7) opens it only where "
                "trainer and daemon share /dev/shm and process numbers",
                driver.error(opened, "open an event of the trainer's on " + device.facts().id())
                    .message);
        events->theirs_.push_back(their);
        CUevent our = nullptr;
        PACE_TRY(driver.check(driver.event_create(&our, kEventDisableTiming | kEventInterprocess),
                              "make an event to share"));
        events->ours_.push_back(our);
        PACE_TRY(driver.check(driver.ipc_get_event_handle(&events->handles_.emplace_back(), our),
                              "share an event"));
    }
    return events;
}

SharedEvents::~SharedEvents() {
    const ContextScope scope = device_.enter();
    for (CUevent event : theirs_) (void)device_.driver().event_destroy(event);
    for (CUevent event : ours_) (void)device_.driver().event_destroy(event);
}

void SharedEvents::await_data(const void* owner, uint32_t slot, uint64_t /*request*/,
                              std::function<void(const Result<>&)> callback) {
    device_.event_watch().add(owner, theirs_.at(slot), std::move(callback));
}

Result<> SharedEvents::tell(uint32_t slot, uint64_t /*request*/, CUstream stream) {
    const ContextScope scope = device_.enter();
    return device_.check(device_.driver().event_record(ours_.at(slot), stream),
                         "tell the trainer's stream");
}

}  // namespace pace::device
