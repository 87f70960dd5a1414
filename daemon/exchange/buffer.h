// Buffer: memory that a trainer maps and exchanges work on. Shared: it outlives its trainer while an exchange uses it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/memfd.h"
#include "daemon/device/device_memory.h"
#include "daemon/device/pinned_memory.h"
#include "daemon/exchange/accounts.h"
#include "protocol/types.h"

namespace pace::daemon {

// What a trainer maps if its buffer is on a GPU.
struct OnDevice {
    device::DeviceMemory memory;
    std::optional<device::PinnedMemory> pin;  // of the twin; without it copies are slower
};

constexpr size_t charge_for(size_t bytes, bool on_device) {
    return on_device ? device::round_up(bytes, device::kAllocationStep) : bytes;
}

struct Buffer {
    // Of a buffer on a GPU, its twin on the host: exchanges work on that, and clients/device_staging.h copies between both.
    base::MappedMemfd memory;
    protocol::DType dtype = protocol::DType::f32;
    uint64_t count = 0;
    Charge charge;                      // what its user pays, for as long as it is anywhere
    std::optional<OnDevice> on_device;  // destroyed before its twin

    size_t bytes() const { return count * protocol::size_of(dtype); }
    // What a client is charged for it.
    size_t charged() const { return charge_for(bytes(), on_device.has_value()); }
    const device::Device* device() const {
        return on_device ? &on_device->memory.device() : nullptr;
    }
};

using BufferPtr = std::shared_ptr<Buffer>;

}  // namespace pace::daemon
