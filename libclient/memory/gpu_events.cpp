#include "libclient/memory/gpu_events.h"

#include <cstring>

namespace pace::client {

using base::ErrorKind;
using base::make_error;
using base::Result;
using namespace base::cuda;  // the driver's own names

Result<std::shared_ptr<GpuEvents>> GpuEvents::create(const CudaDriver& driver, CUcontext context,
                                                     uint32_t slots) {
    std::shared_ptr<GpuEvents> events(new GpuEvents(driver, context));
    const ContextScope scope(driver, context);
    for (uint32_t slot = 0; slot < slots; ++slot) {
        CUevent event = nullptr;
        PACE_TRY(driver.check(driver.event_create(&event, kEventDisableTiming | kEventInterprocess),
                              "make an event to share"));
        events->ours_.push_back(event);
        PACE_TRY(driver.check(driver.ipc_get_event_handle(&events->handles_.emplace_back(), event),
                              "share an event"));
    }
    return events;
}

GpuEvents::~GpuEvents() {
    const ContextScope scope(driver_, context_);
    for (CUevent event : ours_) (void)driver_.event_destroy(event);
    for (CUevent event : theirs_) (void)driver_.event_destroy(event);
}

Result<> GpuEvents::adopt(std::span<const std::byte> theirs) {
    if (theirs.size() != ours_.size() * sizeof(CUipcEventHandle))
        return make_error(ErrorKind::corrupt, "the daemon sent {} bytes of events for {} slots",
                          theirs.size(), ours_.size());
    const ContextScope scope(driver_, context_);
    for (size_t slot = 0; slot < ours_.size(); ++slot) {
        CUipcEventHandle handle{};
        std::memcpy(&handle, theirs.data() + slot * sizeof(handle), sizeof(handle));
        CUevent event = nullptr;
        PACE_TRY(driver_.check(driver_.ipc_open_event_handle(&event, handle),
                               "open an event of the daemon's"));
        theirs_.push_back(event);
    }
    return {};
}

CUresult GpuEvents::record(uint32_t slot, uint64_t /*request*/, CUstream stream) {
    return driver_.event_record(ours_.at(slot), stream);
}

CUresult GpuEvents::await_on(uint32_t slot, uint64_t /*request*/, CUstream stream) {
    return driver_.stream_wait_event(stream, theirs_.at(slot), 0);
}

CUresult GpuEvents::has_come(uint32_t slot, uint64_t /*request*/) {
    return driver_.event_query(theirs_.at(slot));
}

}  // namespace pace::client
