#include "daemon/clients/buffer_request.h"

#include <cstring>
#include <span>
#include <utility>

#include "daemon/clients/session_blocks.h"
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
        if (wanted.device.empty())
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

Result<> check_block(const protocol::client::BufferCreate& create, BufferRequest& ret_wanted) {
    if (create.block() == 0) return {};
    if (!create.adopt() || create.device() == nullptr || ret_wanted.handle)
        return make_error(ErrorKind::invalid,
                          "block {} for memory that is not adopted as a part of a GPU's block",
                          create.block());
    if (create.block() > SessionBlocks::kNumberMax || create.block_bytes() == 0 ||
        create.block_bytes() > kBufferBytesMax)
        return make_error(ErrorKind::invalid, "block {} of {} bytes cannot be", create.block(),
                          create.block_bytes());
    ret_wanted.block = create.block();
    ret_wanted.block_bytes = create.block_bytes();
    ret_wanted.offset = create.offset();
    return {};
}

// The whole block comes into being, or is adopted, with the first memory in it. New blocks are
// clear.
Result<device::DeviceMemory> allocate_block(NewMemory& memory, size_t bytes) {
    const BufferRequest& wanted = memory.wanted;
    auto block = wanted.adopt ? device::DeviceBlock::adopt(*memory.device, std::move(memory.fd),
                                                           wanted.block_bytes)
                              : device::DeviceBlock::create(*memory.device);
    if (!block) return block.error();
    auto place = wanted.adopt ? device::DeviceBlock::place_at(*block, wanted.offset, bytes)
                              : device::DeviceBlock::place(*block, bytes);
    if (!place) return place_error(wanted);
    return std::move(*place);
}

// Adopted memory comes with its descriptor, or with a handle.
Result<device::DeviceMemory> allocate_on_device(NewMemory& memory, size_t bytes) {
    const BufferRequest& wanted = memory.wanted;
    if (memory.block_paid) return allocate_block(memory, bytes);
    if (wanted.handle)
        return device::DeviceMemory::open(*memory.device, *wanted.handle, wanted.offset, bytes);
    if (wanted.adopt)
        return device::DeviceMemory::adopt(*memory.device, std::move(memory.fd), bytes);
    return device::DeviceMemory::create(*memory.device, bytes);
}

// A place in a block that the session has is there. What was freed there is not the buffer's.
Result<> fill_on_device(NewMemory& memory, Buffer& buffer) {
    buffer.has_twin = false;
    if (memory.placed) return memory.wanted.adopt ? Result<>() : buffer.on_device->memory.clear();
    PACE_TRY_ASSIGN(on_device, allocate_on_device(memory, buffer.bytes()));
    buffer.on_device = OnDevice{std::move(on_device), std::nullopt};
    return {};
}

}  // namespace

base::Error place_error(const BufferRequest& wanted) {
    return make_error(
        ErrorKind::invalid,
        "{} bytes from {} on in block {} are not in the block, or meet another buffer",
        wanted.bytes(), wanted.offset, wanted.block);
}

Result<BufferRequest> check_buffer(const protocol::client::BufferCreate& create) {
    BufferRequest wanted{
        static_cast<protocol::DType>(create.dtype()), create.count(), create.adopt(), {}};
    wanted.temporary = create.temporary();
    wanted.copied = create.copied();
    wanted.takes_place = create.takes_place();
    PACE_TRY(check_handle(create, wanted));
    PACE_TRY(check_block(create, wanted));
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
        return made && is_new(memory.wanted) && memory.device == nullptr;
    }
    if (const auto populated = memory.memory.populate(MappedMemfd::kPieceBytes); !populated) {
        memory.buffer = populated.error();
        return false;
    }
    return !memory.memory.is_populated();
}

void finish_memory(NewMemory& memory) {
    if (!memory.buffer) return;
    const BufferPtr buffer = memory.placed ? memory.placed : std::make_shared<Buffer>();
    buffer->memory = std::move(memory.memory);
    buffer->dtype = memory.wanted.dtype;
    buffer->count = memory.wanted.count;
    buffer->temporary = memory.wanted.temporary;
    buffer->copied = memory.wanted.copied;
    buffer->charge = std::move(memory.paid);
    memory.buffer = buffer;
    if (memory.device == nullptr) return;
    if (memory.block_paid) buffer->block_charge = memory.block_paid;
    const auto filled = fill_on_device(memory, *buffer);
    if (!filled) memory.buffer = filled.error();
}

}  // namespace pace::daemon
