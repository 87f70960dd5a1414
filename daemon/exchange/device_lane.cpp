#include "daemon/exchange/device_lane.h"

#include <utility>

namespace pace::daemon {

using base::Result;
using base::cuda::CudaDriver;

Result<std::shared_ptr<DeviceLane>> DeviceLane::create(device::Device& device) {
    PACE_TRY_ASSIGN(stream, device.create_stream());
    auto arrivals = device.create_stream();
    if (!arrivals) {
        device.destroy_stream(stream);
        return arrivals.error();
    }
    return std::shared_ptr<DeviceLane>(new DeviceLane(device, stream, *arrivals));
}

DeviceLane::~DeviceLane() {
    device_.destroy_stream(stream_);
    device_.destroy_stream(arrivals_);
}

Result<> DeviceLane::copy_to_host(const std::vector<BufferPtr>& buffers) const {
    std::vector<std::byte*> twins;
    for (const BufferPtr& buffer : buffers) twins.push_back(buffer->memory.data());
    return copy_to_host(buffers, twins);
}

Result<> DeviceLane::copy_to_host(const std::vector<BufferPtr>& buffers,
                                  std::span<std::byte* const> to) const {
    const CudaDriver& driver = device_.driver();
    const auto scope = device_.enter();
    for (size_t i = 0; i < buffers.size(); ++i)
        PACE_TRY(driver.check(driver.copy_to_host(to[i], buffers[i]->on_device->memory.address(),
                                                  buffers[i]->bytes(), stream_),
                              "copy from a GPU"));
    return {};
}

Result<> DeviceLane::copy_to_device(const std::vector<BufferPtr>& buffers) const {
    const CudaDriver& driver = device_.driver();
    const auto scope = device_.enter();
    for (const BufferPtr& buffer : buffers)
        PACE_TRY(
            driver.check(driver.copy_to_device(buffer->on_device->memory.address(),
                                               buffer->memory.data(), buffer->bytes(), stream_),
                         "copy to a GPU"));
    return {};
}

Result<> DeviceLane::follow(const DeviceLane& other) const {
    return device_.follow(stream_, other.stream_);
}

void DeviceLane::when_done(std::vector<BufferPtr> buffers,
                           std::function<void(const Result<>&)> callback) const {
    device_.when_done(stream_, [buffers = std::move(buffers), callback = std::move(callback)](
                                   const Result<>& result) { callback(result); });
}

DeviceContents::~DeviceContents() {
    if (queued) lane->when_done(std::move(buffers), [](const Result<>&) {});
}

void DeviceContents::bring(std::function<void(const Result<>&)> landed) {
    const auto copying = lane->copy_to_host(buffers);
    on_host = copying.ok();
    lane->when_done(buffers, [this, keep = shared_from_this(), copying,
                              landed = std::move(landed)](const Result<>& ended) {
        const Result<> result = copying ? ended : copying;
        if (!result) on_host = false;
        landed(result);
    });
}

const device::Device* common_device(const std::vector<BufferPtr>& buffers) {
    if (buffers.empty()) return nullptr;
    const device::Device* const device = buffers.front()->device();
    for (const BufferPtr& buffer : buffers)
        if (buffer->device() != device) return nullptr;
    return device;
}

}  // namespace pace::daemon
