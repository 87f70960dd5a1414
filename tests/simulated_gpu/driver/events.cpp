// The driver's functions for events, in this process and between several.
#include "tests/simulated_gpu/driver/events.h"

#include <unistd.h>

#include <bit>
#include <memory>
#include <utility>

#include "tests/simulated_gpu/driver/contexts.h"
#include "tests/simulated_gpu/driver/event.h"
#include "tests/simulated_gpu/driver/state/driver.h"
#include "tests/simulated_gpu/driver/state/handles.h"
#include "tests/simulated_gpu/driver/state/stream.h"
#include "tests/simulated_gpu/driver/streams.h"

namespace pace::simulated_gpu {

namespace {

constexpr unsigned kEventBlockingSync = 1;

using EventHandles = Handles<CUevent, Event>;

EventHandles& events() {
    static auto& all = *new EventHandles(uint64_t{3} << 40U);
    return all;
}

// The documentation of each function of the driver says whether the function needs a context.
struct Found {
    CUresult result = kInvalidHandle;
    std::shared_ptr<Event> event;
};

Found find_with_context(CUevent handle) {
    const Current current = current_context();
    if (!current) return {current.result, nullptr};
    auto event = events().find(handle);
    return {event == nullptr ? kInvalidHandle : kSuccess, std::move(event)};
}

}  // namespace

void forget_events(const Context* context) {
    events().forget_if([&](const Event& event) { return &event.context() == context; });
}

CUresult event_create(CUevent* ret_event, unsigned flags) {
    const Current current = current_context();
    if (!current) return current.result;
    constexpr unsigned kKnown = kEventBlockingSync | kEventDisableTiming | kEventInterprocess;
    const bool interprocess = (flags & kEventInterprocess) != 0;
    if (ret_event == nullptr || (flags & ~kKnown) != 0) return kInvalidValue;
    if (interprocess && (flags & kEventDisableTiming) == 0) return kInvalidValue;
    auto event = Event::create(*current.context, interprocess);
    if (event == nullptr) return kOutOfMemory;
    *ret_event = events().add(std::move(event));
    return kSuccess;
}

// Work that waits for the event or will complete it keeps what it needs.
CUresult event_destroy(CUevent handle) {
    const Current current = current_context();
    if (!current) return current.result;
    return events().take(handle) == nullptr ? kInvalidHandle : kSuccess;
}

CUresult event_record(CUevent handle, CUstream stream_handle) {
    const auto [result, event] = find_with_context(handle);
    if (result != kSuccess) return result;
    const FoundStream found = find_stream(stream_handle);
    if (!found) return found.result;
    if (&event->context() != &found.stream->context()) return kInvalidHandle;
    if (found.stream->is_captured()) return kSuccess;  // the event stays as it was
    const uint32_t record = event->record();
    found.stream->push([event = event, record] { event->complete(record); });
    return kSuccess;
}

CUresult event_query(CUevent handle) {
    const auto event = events().find(handle);
    if (event == nullptr) return kInvalidHandle;
    return event->is_complete(event->last_record()) ? kSuccess : kNotReady;
}

CUresult event_synchronize(CUevent handle) {
    const auto [result, event] = find_with_context(handle);
    if (result == kSuccess) event->wait(event->last_record(), nullptr);
    return result;
}

// The event may belong to another device.
CUresult stream_wait_event(CUstream stream_handle, CUevent handle, unsigned flags) {
    const auto [result, event] = find_with_context(handle);
    if (result != kSuccess) return result;
    if (flags != 0) return kInvalidValue;
    const FoundStream found = find_stream(stream_handle);
    if (!found) return found.result;
    // The work must not hold the stream, because the stream outlives its work.
    found.stream->push(
        [event = event, record = event->last_record(), &cancelled = found.stream->cancelled()] {
            event->wait(record, &cancelled);
        });
    return kSuccess;
}

CUresult ipc_get_event_handle(CUipcEventHandle* ret_handle, CUevent handle) {
    if (ret_handle == nullptr) return kInvalidValue;
    const auto event = events().find(handle);
    if (event == nullptr) return kInvalidHandle;
    const auto ticket = event->ticket();
    if (!ticket) return kInvalidHandle;
    *ret_handle = std::bit_cast<CUipcEventHandle>(*ticket);
    return kSuccess;
}

CUresult ipc_open_event_handle(CUevent* ret_event, CUipcEventHandle handle) {
    const Current current = current_context();
    if (!current) return current.result;
    if (ret_event == nullptr) return kInvalidValue;
    const auto ticket = std::bit_cast<Ticket>(handle);
    if (ticket.process == getpid()) return kInvalidContext;
    auto event = Event::open(*current.context, ticket);
    if (event == nullptr) return kInvalidHandle;
    *ret_event = events().add(std::move(event));
    return kSuccess;
}

}  // namespace pace::simulated_gpu
