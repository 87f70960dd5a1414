// DeviceLane: the stream on which one session's buffers on one GPU are copied and summed, in the order of its calls.
//
// Nothing on it waits for the trainer's streams: what needs the trainer's data is queued only when that has come
// (daemon/device/event_watch.h). So a stream of the trainer's that never comes holds none of ours.
//
// DeviceContents: what a request has there. As long as nobody needs it on the host it stays; `bring` copies it to the buffers' twins.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "daemon/collectives/layout.h"
#include "daemon/device/device.h"
#include "daemon/exchange/buffer.h"

namespace pace::daemon {

class DeviceLane {
  public:
    static base::Result<std::shared_ptr<DeviceLane>> create(device::Device& device);
    // What is queued goes on.
    ~DeviceLane();
    DeviceLane(const DeviceLane&) = delete;
    DeviceLane& operator=(const DeviceLane&) = delete;

    device::Device& device() const { return device_; }
    base::cuda::CUstream stream() const { return stream_; }
    // For results that come from the host while something goes there.
    base::cuda::CUstream returns() const { return returns_; }

    // Between the buffers, which are all on this device, and their twins. Queued.
    base::Result<> copy_to_host(const std::vector<BufferPtr>& buffers) const;
    // To other memory, one place for each buffer.
    base::Result<> copy_to_host(const std::vector<BufferPtr>& buffers,
                                std::span<std::byte* const> to) const;
    base::Result<> copy_to_device(const std::vector<BufferPtr>& buffers) const;
    // A part of the buffers to their twins: the range of what `layout` makes of them.
    base::Result<> copy_piece_to_host(const std::vector<BufferPtr>& buffers,
                                      const collectives::Layout& layout,
                                      collectives::ByteRange range) const;
    // To the buffers what lies in other memory of the device as `layout` has it.
    base::Result<> copy_on_device(const std::vector<BufferPtr>& buffers,
                                  const collectives::Layout& layout,
                                  base::cuda::CUdeviceptr from) const;
    // From buffers to others of the same sizes, all on this device. Queued; the buffers live until it has ended.
    base::Result<> copy_to_others(const std::vector<BufferPtr>& from,
                                  const std::vector<BufferPtr>& to) const;
    // What is queued here from now on waits for what is queued there by now.
    base::Result<> follow(const DeviceLane& other) const;
    // Calls back from the loop, when all that is queued by now has ended; the buffers live until then.
    void when_done(std::vector<BufferPtr> buffers,
                   std::function<void(const base::Result<>&)> callback) const;

  private:
    explicit DeviceLane(device::Device& device) : device_(device) {}

    device::Device& device_;
    base::cuda::CUstream stream_ = nullptr;
    base::cuda::CUstream returns_ = nullptr;
};

struct DeviceContents : std::enable_shared_from_this<DeviceContents> {
    std::shared_ptr<DeviceLane> lane;
    std::vector<BufferPtr> buffers;
    bool on_host = false;  // in the twins, as well
    bool made = false;     // the result is on the device, or will be, and not in the twins
    bool queued = false;   // something that writes them is

    // The buffers, and their twins, stay until what is queued has ended.
    ~DeviceContents();

    // Queues the copy to the twins, and calls back from the loop once it has ended.
    void bring(std::function<void(const base::Result<>&)> landed);
};

// All of them are on the same device; null: they are not.
const device::Device* common_device(const std::vector<BufferPtr>& buffers);

}  // namespace pace::daemon
