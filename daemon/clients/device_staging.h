// DeviceStaging: one session's requests with buffers on a GPU: the order between the trainer's
// streams and ours, and the copies between GPU memory and its twin on the host. Exchanges work on
// the twin.
//
//     submission  --> trainer's event --> copy to the twin, unless the exchange sums on the GPU
//     its end     --> copy from the twin, unless summed on the GPU --> our event --> completion
//     The trainer's stream or thread waits for our event.
//
// All copies of a session go through one stream for each device (exchange/device_lane.h), in the
// order of its calls. Nothing blocks on a device: the loop is called when a copy has ended.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "daemon/clients/buffer_request.h"
#include "daemon/device/devices.h"
#include "daemon/device/shared_events.h"
#include "daemon/gpu/device_lane.h"
#include "daemon/members/request.h"

namespace pace::daemon {

class DeviceStaging {
  public:
    explicit DeviceStaging(device::Devices& devices) : devices_(devices) {}

    // Takes the trainer's event handles for a device and returns ours: kRingSlots of 64 bytes each.
    // Errors: corrupt, for malformed handles or a second call for the device; those of
    // Devices::find.
    base::Result<std::vector<std::byte>> share(std::span<const std::byte> device,
                                               std::span<const std::byte> events);

    base::Result<device::Device*> find(std::span<const std::byte> device);

    static bool concerns(const Request& request);
    // Gives the request its contents. The loop calls `came` when the trainer's stream has reached
    // its event, or failed. `event` is 1 + the slot; 0 stands for no event: `came` is called at
    // once. Error: invalid (buffers on two devices, or on a device and the host; an option that
    // buffers on a device do not support; an event that was not shared).
    base::Result<> begin(Request& request, uint32_t event,
                         std::function<void(const base::Result<>&)> came);
    // To be called when the trainer's stream has reached its event. Queues the copy of the given
    // buffers to the result buffers, if these are others.
    base::Result<> take_given(const Request& request);
    // Ends a request that has begun. If it is done and its result is in the twins, queues the copy
    // back. Returns null if nothing is queued. If the request is done, the trainer may wait for our
    // event instead of the lane; otherwise we must wait for the lane.
    base::Result<std::shared_ptr<DeviceLane>> end(uint64_t id, bool done);

  private:
    struct Lane {
        Lane() = default;
        // Cancels waits for events that the trainer's streams have not reached.
        ~Lane() {
            if (lane) lane->device().event_watch().forget(this);
        }
        Lane(const Lane&) = delete;
        Lane& operator=(const Lane&) = delete;

        std::shared_ptr<DeviceLane> lane;
        std::optional<device::SharedEvents> events;
    };
    struct Begun {
        Lane* lane = nullptr;
        uint32_t event = 0;
        bool writes = false;
        std::shared_ptr<DeviceContents> contents;
        // Given buffers, until they are copied to the result buffers.
        std::vector<BufferPtr> given;
        // The copy of the given buffers is queued.
        bool copies = false;
    };

    base::Result<Lane*> lane_of(device::Device& device);
    base::Result<Lane*> lane_of(const Request& request);

    device::Devices& devices_;
    std::map<const device::Device*, Lane> lanes_;
    std::map<uint64_t, Begun> begun_;  // by request
};

}  // namespace pace::daemon
