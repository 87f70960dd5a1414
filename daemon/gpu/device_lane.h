// DeviceLane: the stream on which one session's buffers on one GPU are copied and summed, in the
// order of its calls.
//
// Nothing on the stream waits for the trainer's streams. Work that needs the trainer's data is
// queued only when the data is there (daemon/device/event_watch.h), so that a trainer's stream
// which never gets there blocks none of ours.
//
// DeviceContents: a request's contents on the GPU. They stay there as long as nobody needs them on
// the host; `bring` copies them to the buffers' host twins.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "daemon/collectives/layout/layout.h"
#include "daemon/device/device.h"
#include "daemon/runtime/buffer.h"

namespace pace::daemon {

class DeviceLane {
  public:
    static base::Result<std::shared_ptr<DeviceLane>> create(device::Device& device);
    // Queued work goes on.
    ~DeviceLane();
    DeviceLane(const DeviceLane&) = delete;
    DeviceLane& operator=(const DeviceLane&) = delete;

    device::Device& device() const { return device_; }
    base::cuda::CUstream stream() const { return stream_; }
    // A second stream, for results that come from the host while something goes to the host.
    base::cuda::CUstream returns() const { return returns_; }

    // Queues copies from the buffers, which are all on this device, to their twins.
    base::Result<> copy_to_host(const std::vector<BufferPtr>& buffers) const;
    // As above, to other memory: one place for each buffer.
    base::Result<> copy_to_host(const std::vector<BufferPtr>& buffers,
                                std::span<std::byte* const> to) const;
    // Queues copies from the twins to the buffers.
    base::Result<> copy_to_device(const std::vector<BufferPtr>& buffers) const;
    // Queues copies of a part of the buffers to their twins: `range` in the buffers as `layout` has
    // them.
    base::Result<> copy_piece_to_host(const std::vector<BufferPtr>& buffers,
                                      const collectives::Layout& layout,
                                      collectives::ByteRange range) const;
    // Queues copies to the buffers from other memory of the device, laid out as `layout` says.
    base::Result<> copy_on_device(const std::vector<BufferPtr>& buffers,
                                  const collectives::Layout& layout,
                                  base::cuda::CUdeviceptr from) const;
    // Queues copies from buffers to others of the same sizes, all on this device. The buffers must
    // live until the copies have ended.
    base::Result<> copy_to_others(const std::vector<BufferPtr>& from,
                                  const std::vector<BufferPtr>& to) const;
    // Work that is queued here from now on waits for the work that `other` has queued by now.
    base::Result<> follow(const DeviceLane& other) const;
    // Calls back from the loop when all work that is queued by now has ended. The buffers are kept
    // until then.
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
    bool on_host = false;  // in the twins, too
    bool made = false;     // the result is on the device, or will be, and not in the twins
    bool queued = false;   // work that writes the buffers is queued

    // The buffers and their twins are kept until queued work has ended.
    ~DeviceContents();

    // Queues the copy to the twins. Calls back from the loop when it has ended.
    void bring(std::function<void(const base::Result<>&)> landed);
};

// The device that all of the buffers are on; null if there is none.
const device::Device* common_device(const std::vector<BufferPtr>& buffers);

}  // namespace pace::daemon
