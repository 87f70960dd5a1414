#include "libclient/connection/buffer.h"

#include <algorithm>
#include <utility>

namespace pace::client {

using base::ErrorKind;
using base::make_error;
using base::Result;

void BufferTable::reserve() {
    const bool vacant = std::any_of(buffers_.begin(), buffers_.end(),
                                    [](const Buffer& buffer) { return !buffer.in_use; });
    if (vacant) return;
    buffers_.emplace_back();
    // Generation 0 is reserved for handles that are all zero.
    buffers_.back().generation = 1;
}

BufferHandle BufferTable::add(protocol::DType type, uint64_t count, NewBuffer buffer,
                              std::byte* outside) {
    const auto slot = std::find_if(buffers_.begin(), buffers_.end(),
                                   [](const Buffer& candidate) { return !candidate.in_use; });
    slot->in_use = true;
    slot->freeing = false;
    slot->released = false;
    slot->claims.clear();
    slot->type = type;
    slot->count = count;
    slot->memory = std::make_shared<base::MappedMemfd>(std::move(buffer.memory));
    slot->gpu_memory = std::move(buffer.gpu_memory);
    slot->outside = outside;
    slot->restored = buffer.restored;
    slot->kind = buffer.kind;
    slot->daemon = buffer.daemon;
    return {stamp_, static_cast<uint32_t>(slot - buffers_.begin()), slot->generation};
}

Result<Buffer*> BufferTable::find(BufferHandle handle) {
    if (is_null(handle))
        return make_error(ErrorKind::handle,
                          "the buffer handle is null; make it with pace_buffer_create");
    if (handle.session != stamp_)
        return make_error(ErrorKind::handle,
                          "buffer {}.{} is of another session; use it with the one that made it",
                          handle.index, handle.generation);
    if (handle.index >= buffers_.size() || buffers_[handle.index].generation < handle.generation)
        return make_error(ErrorKind::handle, "buffer {}.{} was never made by this session",
                          handle.index, handle.generation);
    Buffer& buffer = buffers_[handle.index];
    const bool is_freed = !buffer.in_use || buffer.freeing || buffer.released;
    if (is_freed || buffer.generation != handle.generation)
        return make_error(ErrorKind::handle, "buffer {}.{} has been freed", handle.index,
                          handle.generation);
    return &buffer;
}

Result<Buffer*> BufferTable::find_idle(BufferHandle handle) {
    PACE_TRY_ASSIGN(buffer, find(handle));
    if (!buffer->claims.empty())
        return make_error(ErrorKind::invalid,
                          "buffer {}.{} is named by request {:#x} in flight; wait for that first",
                          handle.index, handle.generation, buffer->claims.front().request);
    return buffer;
}

Result<> BufferTable::release(BufferHandle handle) {
    PACE_TRY_ASSIGN(buffer, find(handle));
    buffer->released = true;
    return {};
}

std::optional<uint32_t> BufferTable::released_and_idle() const {
    const auto found = std::find_if(buffers_.begin(), buffers_.end(), [](const Buffer& buffer) {
        return buffer.in_use && buffer.released && !buffer.freeing && buffer.claims.empty();
    });
    if (found == buffers_.end()) return std::nullopt;
    return static_cast<uint32_t>(found - buffers_.begin());
}

RemovedMemory BufferTable::remove(uint32_t index) {
    Buffer& buffer = buffers_[index];
    RemovedMemory removed{std::move(buffer.memory), std::move(buffer.gpu_memory)};
    buffer.copy = BufferHandle();
    buffer.snapshot.reset();
    buffer.in_use = false;
    buffer.freeing = false;
    ++buffer.generation;
    return removed;
}

std::vector<uint32_t> BufferTable::in_use() const {
    std::vector<uint32_t> indices;
    for (uint32_t i = 0; i < buffers_.size(); ++i)
        if (buffers_[i].in_use) indices.push_back(i);
    return indices;
}

BufferInfo info_of(Buffer& buffer) {
    const uint32_t device = buffer.gpu() == nullptr ? 0 : buffer.gpu()->ordinal() + 1;
    const bool is_staged = buffer.is_staged();
    const bool has_twin = is_staged || device != 0;
    return BufferInfo{.type = buffer.type,
                      .count = buffer.count,
                      .device = device,
                      .data = buffer.data(),
                      .restored = buffer.restored,
                      .staged = is_staged,
                      .twin_bytes = has_twin ? buffer.count * size_of(buffer.type) : 0};
}

SharedBuffer shared(Buffer& buffer) {
    SharedBuffer shared{info_of(buffer), nullptr};
    if (buffer.gpu() == nullptr && !shared.info.staged) shared.memory = buffer.memory;
    if (buffer.gpu() != nullptr && buffer.gpu_memory->outlives_daemon())
        shared.memory = buffer.gpu_memory;
    return shared;
}

bool is_null(BufferHandle handle) {
    return handle.session == 0 && handle.index == 0 && handle.generation == 0;
}

}  // namespace pace::client
