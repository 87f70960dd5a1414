#include "daemon/clients/buffer_request.h"

#include <cstring>
#include <span>
#include <utility>

#include "base/log/daemon_events.h"
#include "daemon/runtime/memory_room.h"

namespace pace::daemon {

using base::ErrorKind;
using base::make_error;
using base::MappedMemfd;
using base::Result;

namespace {

constexpr uint64_t kBufferBytesMax = uint64_t{1} << 46U;

bool is_new(const BufferRequest& wanted) {
    return !wanted.adopt || !wanted.device.empty();
}

// New memory is not populated yet.
Result<MappedMemfd> memory_of(const BufferRequest& wanted, base::UniqueFd& fd) {
    if (is_new(wanted)) {
        PACE_TRY(check_memory_room("a buffer", wanted.bytes(), memory_room()));
        return MappedMemfd::create("pace-buffer", wanted.bytes(), false);
    }
    return MappedMemfd::adopt(std::move(fd), wanted.bytes());
}

Result<> check_handle(const protocol::client::BufferCreate& create, BufferRequest& ret_wanted) {
    const auto* const given = create.handle();
    if (given == nullptr || given->size() == 0) return {};
    base::cuda::CUipcMemHandle handle{};
    if (given->size() != sizeof(handle) || !create.adopt() || create.device() == nullptr)
        return make_error(ErrorKind::invalid,
                          "a handle of {} bytes, not of {} for memory of a GPU that is adopted",
                          given->size(), sizeof(handle));
    std::memcpy(&handle, given->data(), sizeof(handle));
    ret_wanted.handle = handle;
    ret_wanted.offset = create.offset();
    return {};
}

// Copies are slower where this fails.
std::optional<device::PinnedMemory> pin_twin(device::Device& gpu, const Buffer& twin) {
    auto pin = device::PinnedMemory::pin(gpu, twin.memory.data(), twin.memory.size());
    if (pin) return std::move(*pin);
    base::log_event(base::events::kGpuPinFailed,
                    {{"bytes", twin.bytes()}, {"reason", pin.error().message}});
    return std::nullopt;
}

// Adopted memory comes with its descriptor, or with a handle.
Result<device::DeviceMemory> allocate_on_device(NewMemory& memory, size_t bytes) {
    const BufferRequest& wanted = memory.wanted;
    if (wanted.handle)
        return device::DeviceMemory::open(*memory.device, *wanted.handle, wanted.offset, bytes);
    if (wanted.adopt)
        return device::DeviceMemory::adopt(*memory.device, std::move(memory.fd), bytes);
    return device::DeviceMemory::create(*memory.device, bytes);
}

}  // namespace

Result<BufferRequest> check_buffer(const protocol::client::BufferCreate& create) {
    BufferRequest wanted{
        static_cast<protocol::DType>(create.dtype()), create.count(), create.adopt(), {}};
    wanted.temporary = create.temporary();
    wanted.copied = create.copied();
    PACE_TRY(check_handle(create, wanted));
    if (create.device() != nullptr) {
        const auto device =
            std::as_bytes(std::span(create.device()->data(), create.device()->size()));
        wanted.device.assign(device.begin(), device.end());
        if (wanted.device.size() != sizeof(base::cuda::CUuuid))
            return make_error(ErrorKind::invalid, "a GPU's number has {} bytes, not {}",
                              wanted.device.size(), sizeof(base::cuda::CUuuid));
    }
    if (!protocol::is_valid(wanted.dtype))
        return make_error(ErrorKind::invalid, "element type {} is none",
                          static_cast<unsigned>(create.dtype()));
    if (wanted.count == 0 || wanted.count > kBufferBytesMax / protocol::size_of(wanted.dtype))
        return make_error(ErrorKind::invalid, "a buffer of {} elements cannot be", wanted.count);
    if (wanted.offset % protocol::size_of(wanted.dtype) != 0)
        return make_error(ErrorKind::invalid,
                          "memory {} bytes behind the start of its block is not aligned for {}",
                          wanted.offset, protocol::name_of(wanted.dtype));
    return wanted;
}

bool make_piece(NewMemory& memory) {
    if (!memory.begun) {
        memory.begun = true;
        auto made = memory_of(memory.wanted, memory.fd);
        if (made)
            memory.memory = std::move(*made);
        else
            memory.buffer = made.error();
        return made && is_new(memory.wanted);
    }
    if (const auto populated = memory.memory.populate(MappedMemfd::kPieceBytes); !populated) {
        memory.buffer = populated.error();
        return false;
    }
    return !memory.memory.is_populated();
}

void finish_memory(NewMemory& memory) {
    if (!memory.buffer) return;
    auto buffer = std::make_shared<Buffer>();
    buffer->memory = std::move(memory.memory);
    buffer->dtype = memory.wanted.dtype;
    buffer->count = memory.wanted.count;
    buffer->temporary = memory.wanted.temporary;
    buffer->copied = memory.wanted.copied;
    buffer->charge = std::move(memory.paid);
    memory.buffer = buffer;
    if (memory.device == nullptr) return;
    auto pin = pin_twin(*memory.device, *buffer);
    auto on_device = allocate_on_device(memory, buffer->bytes());
    if (on_device)
        buffer->on_device = OnDevice{std::move(*on_device), std::move(pin)};
    else
        memory.buffer = on_device.error();
}

}  // namespace pace::daemon
