#include "daemon/gpu/host_twin.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "daemon/runtime/memory_room.h"

namespace pace::daemon {

using base::MappedMemfd;
using base::Result;

namespace {

// To memory that is not pinned, the driver copies while its caller waits, and that is the loop.
Result<> pin(Buffer& buffer) {
    device::Device& gpu = buffer.on_device->memory.device();
    auto pin = device::PinnedMemory::pin(gpu, buffer.memory.data(), buffer.memory.size());
    if (!pin)
        return base::make_error(base::ErrorKind::memory,
                                "{} bytes of the host's memory, for a buffer on {}, cannot be "
                                "pinned: {}",
                                buffer.bytes(), gpu.facts().id(), pin.error().message);
    buffer.on_device->pin = std::move(*pin);
    return {};
}

}  // namespace

bool have_twins(const std::vector<BufferPtr>& buffers) {
    return std::all_of(buffers.begin(), buffers.end(),
                       [](const BufferPtr& buffer) { return buffer->has_twin.load(); });
}

// A call that was canceled may have left another thread at work on the same twin.
Result<> TwinMaker::make_piece_of(Buffer& buffer) {
    const std::scoped_lock lock(buffer.twin_mutex);
    if (buffer.has_twin) return {};
    if (buffer.memory.populated() == 0)
        PACE_TRY(check_memory_room("the twin on the host of a buffer on a GPU", buffer.bytes(),
                                   memory_room()));
    PACE_TRY(buffer.memory.populate(MappedMemfd::kPieceBytes));
    if (buffer.memory.populated() < buffer.memory.size()) return {};
    PACE_TRY(pin(buffer));
    buffer.has_twin = true;
    return {};
}

bool TwinMaker::make_piece() {
    while (made_ && next_ < buffers_.size() && buffers_[next_]->has_twin) ++next_;
    if (!made_ || next_ == buffers_.size()) return false;
    made_ = make_piece_of(*buffers_[next_]);
    return made_.ok();
}

Result<> TwinMaker::make_all() {
    while (make_piece()) {
    }
    return made_;
}

}  // namespace pace::daemon
