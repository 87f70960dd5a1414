#include "daemon/clients/device_staging.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace pace::daemon {

using base::ErrorKind;
using base::make_error;
using base::Result;
using base::cuda::CUuuid;
using device::Device;

namespace {

Result<CUuuid> uuid_of(std::span<const std::byte> bytes) {
    CUuuid uuid{};
    if (bytes.size() != sizeof(uuid))
        return make_error(ErrorKind::corrupt, "a GPU's number has {} bytes, not {}", bytes.size(),
                          sizeof(uuid));
    std::memcpy(&uuid, bytes.data(), sizeof(uuid));
    return uuid;
}

}  // namespace

Result<DeviceStaging::Lane*> DeviceStaging::lane_of(Device& device) {
    const auto found = lanes_.find(&device);
    if (found != lanes_.end()) return &found->second;
    PACE_TRY_ASSIGN(made, DeviceLane::create(device));
    Lane& lane = lanes_[&device];
    lane.lane = std::move(made);
    return &lane;
}

Result<Device*> DeviceStaging::find(std::span<const std::byte> device) {
    PACE_TRY_ASSIGN(uuid, uuid_of(device));
    return devices_.find(uuid);
}

// Queued work uses the order until it has ended.
DeviceStaging::Lane::~Lane() {
    if (!lane) return;
    Device& device = lane->device();
    device.event_watch().forget(this);
    if (!order) return;
    lane->when_done({}, [&device, order = std::move(order)](const Result<>&) mutable {
        device.release(std::move(order));
    });
}

Result<Device*> DeviceStaging::begin_sharing(std::span<const std::byte> device) {
    PACE_TRY_ASSIGN(found, find(device));
    PACE_TRY_ASSIGN(lane, lane_of(*found));
    if (lane->order || lane->is_sharing)
        return make_error(ErrorKind::corrupt, "the order of streams of {} a second time",
                          found->facts().id());
    lane->is_sharing = true;
    return found;
}

// An order that cannot be used stays where it is.
Result<> DeviceStaging::end_sharing(Device& device,
                                    Result<std::shared_ptr<device::StreamOrder>>& order) {
    Lane& lane = lanes_.at(&device);
    lane.is_sharing = false;
    if (!order) return order.error();
    PACE_TRY((*order)->probe(lane.lane->stream()));
    lane.order = std::move(*order);
    return {};
}

bool DeviceStaging::concerns(const Request& request) {
    const auto is_there = [](const BufferPtr& buffer) { return buffer->on_device.has_value(); };
    return std::any_of(request.buffers.begin(), request.buffers.end(), is_there) ||
           std::any_of(request.results.begin(), request.results.end(), is_there);
}

Result<DeviceStaging::Lane*> DeviceStaging::lane_of(const Request& request) {
    const Device* const device = request.buffers.front()->device();
    const auto check = [device](std::string_view name,
                                const std::vector<BufferPtr>& buffers) -> Result<> {
        for (size_t i = 0; i < buffers.size(); ++i) {
            if (buffers[i]->device() == device && device != nullptr) continue;
            return make_error(ErrorKind::invalid,
                              "{}[{}] is not where buffers[0] is: the buffers of one call are all "
                              "on one GPU, or all on the host",
                              name, i);
        }
        return {};
    };
    PACE_TRY(check("buffers", request.buffers));
    PACE_TRY(check("results", request.results));
    if (request.order != protocol::Order::all_at_once || request.keeps_local)
        return make_error(ErrorKind::invalid,
                          "buffers on a GPU are averaged all at once: leave out order and "
                          "keep_local, or use buffers on the host");
    return lane_of(request.buffers.front()->on_device->memory.device());
}

Result<> DeviceStaging::begin(Request& request, uint32_t event,
                              std::function<void(const Result<>&)> came) {
    PACE_TRY_ASSIGN(lane, lane_of(request));
    if (event != 0 && (!lane->order || event > lane->order->slots()))
        return make_error(ErrorKind::invalid,
                          "the streams' order of {} was not shared, or has no {}",
                          lane->lane->device().facts().id(), event - 1);
    std::vector<BufferPtr> given;
    if (!request.results.empty())
        given = std::exchange(request.buffers, std::exchange(request.results, {}));
    request.contents = std::make_shared<DeviceContents>();
    request.contents->lane = lane->lane;
    request.contents->buffers = request.buffers;
    begun_[request.id] = {lane, event, protocol::writes_buffers(request.verb), request.contents,
                          std::move(given)};
    if (event == 0)
        lane->lane->device().event_watch().add(lane, nullptr, std::move(came));
    else
        lane->order->await_data(lane, event - 1, request.id, std::move(came));
    return {};
}

// A GPU copies within its own memory far faster than over any link. So all else works on the result
// buffers.
Result<> DeviceStaging::take_given(const Request& request) {
    Begun& begun = begun_.at(request.id);
    const std::vector<BufferPtr> given = std::exchange(begun.given, {});
    if (given.empty()) return {};
    begun.copies = true;
    tell_writing(request.mark);
    request.contents->queued = true;
    const DeviceLane& lane = *request.contents->lane;
    auto copied = lane.copy_to_others(given, request.buffers);
    lane.when_done(given, [](const Result<>&) {});
    return copied;
}

// Queues the result's way to the buffers. Returns whether work is queued that somebody must wait
// for.
Result<bool> DeviceStaging::queue_result(const Begun& begun, bool done) {
    // The copy of the given buffers to the results may still run.
    if (!done) return begun.copies;
    if (!begun.writes) return false;
    if (!begun.contents->made) {
        begun.contents->queued = true;
        PACE_TRY(begun.lane->lane->copy_to_device(begun.contents->buffers));
    }
    return true;
}

Result<std::shared_ptr<DeviceLane>> DeviceStaging::end(uint64_t id, bool done) {
    const auto found = begun_.find(id);
    if (found == begun_.end()) return std::shared_ptr<DeviceLane>();
    const Begun begun = std::move(found->second);
    begun_.erase(found);
    const auto queued = queue_result(begun, done);
    Result<> told;
    if (begun.event != 0) {
        device::StreamOrder& order = *begun.lane->order;
        const base::cuda::CUstream stream = begun.lane->lane->stream();
        if (done && queued && *queued)
            told = order.tell(begun.event - 1, id, stream);
        else
            order.release(begun.event - 1, id, stream);
    }
    PACE_TRY_ASSIGN(is_queued, queued);
    PACE_TRY(told);
    return is_queued ? begun.lane->lane : std::shared_ptr<DeviceLane>();
}

// Whatever the request names is wrong, perhaps also the device. So all lanes tell.
void DeviceStaging::end_unbegun(uint64_t id, uint32_t event) {
    for (auto& [device, lane] : lanes_)
        if (lane.order && event != 0 && event <= lane.order->slots())
            lane.order->release(event - 1, id, lane.lane->stream());
}

}  // namespace pace::daemon
