// OrderRequest: a client's request to order its streams on a device with ours, and the StreamOrder
// made for the request.
#pragma once

#include <protocol/client_generated.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "base/cuda/cuda_driver.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "daemon/device/device.h"
#include "daemon/device/stream_order.h"

namespace pace::daemon {

struct OrderRequest {
    OrderRequest() = default;
    // Hands an order that nobody has taken to the device's thread.
    ~OrderRequest();
    OrderRequest(const OrderRequest&) = delete;
    OrderRequest& operator=(const OrderRequest&) = delete;

    uint64_t request = 0;
    device::Device* device = nullptr;
    // What the trainer shares: the descriptor of its words, or, if that is empty, its events.
    base::UniqueFd words;
    std::vector<base::cuda::CUipcEventHandle> events;

    base::Result<std::shared_ptr<device::StreamOrder>> order =
        std::shared_ptr<device::StreamOrder>();
    std::vector<base::cuda::CUipcEventHandle> our_events;  // empty: the order is by words
};

// The events of a request, kRingSlots of them. Error: corrupt, for another number of bytes.
base::Result<std::vector<base::cuda::CUipcEventHandle>> events_of(
    const protocol::client::DeviceShare& share);

// Makes the order, or leaves the error there: those of SharedWords::adopt or SharedEvents::open.
// Threads: any. Blocks while the driver registers the words or opens the events.
void make_order(OrderRequest& request);

}  // namespace pace::daemon
