// DeviceStaging: what one session's requests need whose buffers are on a GPU: the order between the trainer's streams and ours, and the
// copies between the GPU's memory and its twin on the host, on which exchanges work.
//
//     submission --> the trainer's event --> copy to the twin, unless the exchange is a sum on the GPU
//     its end    --> copy from the twin, unless it was --> our event --> completion; the trainer's stream or thread waits for the event
//
// All copies of a session go through one stream for each device (exchange/device_lane.h), in the order of its calls. Nobody waits
// for a device: what follows a copy comes back to the loop.
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
#include "daemon/exchange/device_lane.h"
#include "daemon/exchange/request.h"

namespace pace::daemon {

class DeviceStaging {
  public:
    explicit DeviceStaging(device::Devices& devices) : devices_(devices) {}

    // Takes the trainer's events for a device, and returns ours: kRingSlots of 64 bytes each. Errors: corrupt, if they are none
    // or come a second time; those of Devices::find.
    base::Result<std::vector<std::byte>> share(std::span<const std::byte> device,
                                               std::span<const std::byte> events);

    base::Result<device::Device*> find(std::span<const std::byte> device);

    // Memory on the device for a buffer whose twin is there; one that is adopted has its descriptor with it.
    static base::Result<OnDevice> allocate(NewMemory& twin);

    static bool concerns(const Request& request);
    // Gives the request its contents. `came` comes from the loop when the trainer's stream has come to its event (1 + the slot; 0:
    // at once), or failed. Errors at once: invalid (buffers of two devices, or on one and on the host; what buffers on a device do
    // not do; an event that was not shared).
    base::Result<> begin(Request& request, uint32_t event,
                         std::function<void(const base::Result<>&)> came);
    // The trainer's stream has come: what was given is copied to where the result goes, if that is elsewhere. Queued.
    base::Result<> take_given(const Request& request);
    // Of a request that has begun. Copies its twins back if it has ended well and has its result there; then the trainer is to
    // wait for our event, or we for the lane; of one that has ended in another way, we. Null: nothing is queued.
    base::Result<std::shared_ptr<DeviceLane>> end(uint64_t id, bool done);

  private:
    struct Lane {
        Lane() = default;
        // What its trainer's streams have not come to is nobody's any more.
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
        std::vector<BufferPtr> given;  // until it is copied to the request's buffers
        bool copies = false;           // that is queued
    };

    base::Result<Lane*> lane_of(device::Device& device);
    base::Result<Lane*> lane_of(const Request& request);

    device::Devices& devices_;
    std::map<const device::Device*, Lane> lanes_;
    std::map<uint64_t, Begun> begun_;  // by request
};

}  // namespace pace::daemon
