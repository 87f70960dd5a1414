#include "daemon/gpu/device_lane.h"

#include <utility>

namespace pace::daemon {

using base::Result;
using base::cuda::CudaDriver;

Result<std::shared_ptr<DeviceLane>> DeviceLane::create(device::Device& device) {
    std::shared_ptr<DeviceLane> lane(new DeviceLane(device));
    for (base::cuda::CUstream* const stream : {&lane->stream_, &lane->returns_}) {
        PACE_TRY_ASSIGN(made, device.create_stream());
        *stream = made;
    }
    return lane;
}

DeviceLane::~DeviceLane() {
    for (const base::cuda::CUstream stream : {stream_, returns_})
        if (stream != nullptr) device_.destroy_stream(stream);
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
        PACE_TRY(device_.check(driver.copy_to_host(to[i], buffers[i]->on_device->memory.address(),
                                                   buffers[i]->bytes(), stream_),
                               "copy from a GPU"));
    return {};
}

Result<> DeviceLane::copy_to_device(const std::vector<BufferPtr>& buffers) const {
    const CudaDriver& driver = device_.driver();
    const auto scope = device_.enter();
    for (const BufferPtr& buffer : buffers)
        PACE_TRY(
            device_.check(driver.copy_to_device(buffer->on_device->memory.address(),
                                                buffer->memory.data(), buffer->bytes(), stream_),
                          "copy to a GPU"));
    return {};
}

Result<> DeviceLane::copy_piece_to_host(const std::vector<BufferPtr>& buffers,
                                        const collectives::Layout& layout,
                                        collectives::ByteRange range) const {
    const CudaDriver& driver = device_.driver();
    const auto scope = device_.enter();
    Result<> all;
    layout.for_each_piece(range, [&](const collectives::Piece& piece) {
        const Buffer& buffer = *buffers[piece.segment];
        const size_t offset = piece.first * protocol::size_of(piece.dtype);
        const auto copied =
            device_.check(driver.copy_to_host(buffer.memory.data() + offset,
                                              buffer.on_device->memory.address() + offset,
                                              piece.bytes(), stream_),
                          "copy from a GPU");
        if (!copied && all) all = copied;
    });
    return all;
}

Result<> DeviceLane::copy_on_device(const std::vector<BufferPtr>& buffers,
                                    const collectives::Layout& layout,
                                    base::cuda::CUdeviceptr from) const {
    const CudaDriver& driver = device_.driver();
    const auto scope = device_.enter();
    for (size_t s = 0; s < buffers.size(); ++s)
        PACE_TRY(device_.check(
            driver.copy_on_device(buffers[s]->on_device->memory.address(), from + layout.offset(s),
                                  buffers[s]->bytes(), stream_),
            "copy on a GPU"));
    return {};
}

Result<> DeviceLane::copy_to_others(const std::vector<BufferPtr>& from,
                                    const std::vector<BufferPtr>& to) const {
    const CudaDriver& driver = device_.driver();
    const auto scope = device_.enter();
    for (size_t i = 0; i < from.size(); ++i)
        PACE_TRY(device_.check(
            driver.copy_on_device(to[i]->on_device->memory.address(),
                                  from[i]->on_device->memory.address(), from[i]->bytes(), stream_),
            "copy on a GPU"));
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
