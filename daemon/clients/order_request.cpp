#include "daemon/clients/order_request.h"

#include <cstring>
#include <utility>

#include "base/attempt.h"
#include "daemon/device/shared_events.h"
#include "daemon/device/shared_words.h"
#include "protocol/ring.h"

namespace pace::daemon {

using base::Result;
using base::cuda::CUipcEventHandle;
using device::StreamOrder;

namespace {

Result<std::shared_ptr<StreamOrder>> order_by_words(OrderRequest& request) {
    PACE_TRY_ASSIGN(words, device::SharedWords::adopt(*request.device, std::move(request.words),
                                                      protocol::kRingSlots));
    return std::shared_ptr<StreamOrder>(std::move(words));
}

Result<std::shared_ptr<StreamOrder>> order_by_events(OrderRequest& request) {
    PACE_TRY_ASSIGN(events, device::SharedEvents::open(*request.device, request.events));
    request.our_events = events->handles();
    return std::shared_ptr<StreamOrder>(std::move(events));
}

}  // namespace

OrderRequest::~OrderRequest() {
    if (!order || !*order) return;
    // Without memory for the hand-over, the order is destroyed here.
    (void)base::attempt([this] { device->release(std::move(*order)); });
}

Result<std::vector<CUipcEventHandle>> events_of(const protocol::client::DeviceShare& share) {
    const size_t expected = protocol::kRingSlots * sizeof(CUipcEventHandle);
    const size_t bytes = share.events()->size();
    if (bytes != expected)
        return base::make_error(base::ErrorKind::corrupt, "{} bytes of events; {} are expected",
                                bytes, expected);
    std::vector<CUipcEventHandle> events(protocol::kRingSlots);
    std::memcpy(events.data(), share.events()->data(), bytes);
    return events;
}

void make_order(OrderRequest& request) {
    request.order = request.words.get() >= 0 ? order_by_words(request) : order_by_events(request);
}

}  // namespace pace::daemon
