// DeviceStaging: one session's requests with buffers on a GPU: the order between the trainer's
// streams and ours, and the copies between GPU memory and its twin on the host. Exchanges work on
// the twin.
//
//     submission  --> trainer's data --> copy to the twin, unless the exchange sums on the GPU
//     its end     --> copy from the twin, unless summed on the GPU --> word --> completion
//
// The trainer's stream or thread waits for the word, or the event in its place
// (daemon/device/stream_order.h).
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
#include "daemon/device/stream_order.h"
#include "daemon/gpu/device_lane.h"
#include "daemon/members/request.h"

namespace pace::daemon {

class DeviceStaging {
  public:
    explicit DeviceStaging(device::Devices& devices) : devices_(devices) {}

    // A device's streams are ordered once: begin_sharing() finds the device, and end_sharing() has
    // the order that was made for it (order_request.h), or the error; after an error the trainer
    // may begin again.
    // Errors: corrupt, for a second call for the device; those of Devices::find and of
    // StreamOrder::probe.
    base::Result<device::Device*> begin_sharing(std::span<const std::byte> device);
    base::Result<> end_sharing(device::Device& device,
                               base::Result<std::shared_ptr<device::StreamOrder>>& order);

    base::Result<device::Device*> find(std::span<const std::byte> device);

    static bool concerns(const Request& request);
    // Gives the request its contents. The loop calls `came` when the trainer's stream has made the
    // data, or failed. `event` is 1 + the slot; 0: the data is there, and `came` is called at once.
    // Error: invalid (buffers on two devices, or on a device and the host; an option that buffers
    // on a device do not support; a slot that was not shared).
    base::Result<> begin(Request& request, uint32_t event,
                         std::function<void(const base::Result<>&)> came);
    // To be called when the trainer's data is there. Queues the copy of the given
    // buffers to the result buffers, if these are others.
    base::Result<> take_given(const Request& request);
    // Ends a request that has begun. If it is done and its result is in the twins, queues the copy
    // back. Tells the trainer's streams of the end in any case. Returns null if nothing is queued.
    // If the request is done, the trainer may wait until it is told; otherwise we must wait for the
    // lane.
    base::Result<std::shared_ptr<DeviceLane>> end(uint64_t id, bool done);
    // Tells the trainer's streams that a request has ended which has not begun.
    void end_unbegun(uint64_t id, uint32_t event);

  private:
    struct Lane {
        Lane() = default;
        // Cancels waits for data that the trainer's streams have not made.
        ~Lane();
        Lane(const Lane&) = delete;
        Lane& operator=(const Lane&) = delete;

        std::shared_ptr<DeviceLane> lane;
        std::shared_ptr<device::StreamOrder> order;
        bool is_sharing = false;  // the order is being made
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
    static base::Result<bool> queue_result(const Begun& begun, bool done);

    device::Devices& devices_;
    std::map<const device::Device*, Lane> lanes_;
    std::map<uint64_t, Begun> begun_;  // by request
};

}  // namespace pace::daemon
