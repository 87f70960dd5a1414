// Buffers and GPUs: making, freeing, and releasing buffers to be freed later.
#include <memory>
#include <utility>

#include "libclient/connection/joining.h"
#include "libclient/session/session.h"

namespace pace::client {

using base::Result;
using base::TimePoint;

namespace {

// Another buffer may get the place in a block as soon as the daemon is told. So our work there ends
// before. Returns whether tensors go on using the place: then somebody owns the memory besides the
// buffer table and our caller.
bool leaves_tensors(const GpuMemory& memory, long owners) {
    if (!memory.is_in_block()) return false;
    memory.settle();
    return owners > 2;
}

}  // namespace

Result<CreatedBuffer> Session::create_buffer(protocol::DType type, uint64_t count, uint32_t device,
                                             const Imported& imported) {
    PACE_TRY(check_open());
    const MemoryRequest wanted{type, count, device != 0, imported};
    PACE_TRY(check(wanted));

    const std::scoped_lock setup(setup_mutex_);
    PACE_TRY(reconnect());
    free_released();
    std::shared_ptr<Connection> connection;
    {
        const std::scoped_lock lock(mutex_);
        buffers_.reserve();
        connection = connection_;
    }
    const TimePoint deadline = base::now() + connect_ + time_to_make(wanted);
    Gpu* gpu = nullptr;
    if (device != 0) {
        PACE_TRY_ASSIGN(opened, open_gpu(device - 1, *connection));
        gpu = opened;
    }
    auto made = make_memory(*connection, wanted, gpu, deadline);

    const std::scoped_lock lock(mutex_);
    if (!made) {
        (void)is_connected();
        return settled(std::move(made).error());
    }
    const BufferHandle handle = buffers_.add(type, count, std::move(*made),
                                             wanted.is_outside() ? imported.pointer : nullptr);
    return CreatedBuffer{handle, buffers_.at(handle.index).data()};
}

Result<BufferInfo> Session::buffer_info(BufferHandle handle) {
    PACE_TRY(check_open());
    const std::scoped_lock lock(mutex_);
    PACE_TRY_ASSIGN(buffer, buffers_.find(handle));
    return info_of(*buffer);
}

Result<SharedBuffer> Session::share_buffer(BufferHandle handle) {
    PACE_TRY(check_open());
    const std::scoped_lock lock(mutex_);
    PACE_TRY_ASSIGN(buffer, buffers_.find(handle));
    return shared(*buffer);
}

Result<> Session::provide_copies(std::span<const Slice> slices) {
    for (const Slice& slice : slices) PACE_TRY(provide_copy(slice.buffer));
    return {};
}

// Makes the buffer's copy unless there is one.
Result<> Session::provide_copy(BufferHandle handle) {
    protocol::DType type{};
    uint64_t count = 0;
    {
        const std::scoped_lock lock(mutex_);
        PACE_TRY_ASSIGN(buffer, buffers_.find(handle));
        if (buffer->has_copy()) return {};
        type = buffer->type;
        count = buffer->count;
    }
    // The allocation may throw, so it comes first. A copy that the daemon makes then always has an
    // owner.
    std::unique_ptr<std::byte[]> snapshot(new std::byte[count * size_of(type)]);
    PACE_TRY_ASSIGN(made, create_buffer(type, count, 0, {.is_copy = true}));
    {
        const std::scoped_lock lock(mutex_);
        // Meanwhile another thread may have made a copy or freed the buffer.
        const auto buffer = buffers_.find(handle);
        if (buffer && !(*buffer)->has_copy()) {
            (*buffer)->copy = made.handle;
            (*buffer)->snapshot = std::move(snapshot);
            return {};
        }
    }
    return free_one(made.handle);
}

Result<> Session::free_buffer(BufferHandle handle) {
    PACE_TRY(check_open());
    BufferHandle copy;
    {
        const std::scoped_lock lock(mutex_);
        if (const auto buffer = buffers_.find(handle)) copy = (*buffer)->copy;
    }
    PACE_TRY(free_one(handle));
    return free_one(copy);
}

Result<> Session::free_one(BufferHandle handle) {
    if (is_null(handle)) return {};
    const std::scoped_lock setup(setup_mutex_);
    {
        const std::scoped_lock lock(mutex_);
        PACE_TRY_ASSIGN(buffer, buffers_.find_idle(handle));
        buffer->freeing = true;
    }
    PACE_TRY(free_at(handle.index));
    free_released();
    return {};
}

Result<> Session::release_buffer(BufferHandle handle) {
    PACE_TRY(check_open());
    if (is_null(handle)) return {};
    const std::scoped_lock lock(mutex_);
    return buffers_.release(handle);
}

// Frees all released buffers that are idle. If a free fails, the daemon is asked again another
// time.
void Session::free_released() {
    for (;;) {
        uint32_t index = 0;
        BufferHandle copy;
        {
            const std::scoped_lock lock(mutex_);
            const auto released = buffers_.released_and_idle();
            if (!released) return;
            index = *released;
            copy = buffers_.at(index).copy;
            buffers_.at(index).freeing = true;
        }
        if (!free_at(index)) return;
        const std::scoped_lock lock(mutex_);
        (void)buffers_.release(copy);
    }
}

// Frees a buffer that is marked as being freed. A failure leaves the buffer as it was.
Result<> Session::free_at(uint32_t index) {
    std::shared_ptr<Connection> connection;
    DaemonBuffer daemon;
    std::shared_ptr<GpuMemory> gpu_memory;
    {
        const std::scoped_lock lock(mutex_);
        if (is_connected()) connection = connection_;
        daemon = buffers_.at(index).daemon;
        gpu_memory = buffers_.at(index).gpu_memory;
    }
    const bool keeps_place = gpu_memory && leaves_tensors(*gpu_memory, gpu_memory.use_count());
    // Without a daemon there is nobody to tell. The buffer is not handed to the next daemon.
    Result<> told;
    if (connection)
        told = connection->free_buffer(daemon.index, base::now() + connect_, keeps_place);

    RemovedMemory removed;  // unmapped after the lock has been released
    const std::scoped_lock lock(mutex_);
    if (!told && is_connected()) {
        buffers_.at(index).freeing = false;
        return told;
    }
    removed = buffers_.remove(index);
    return {};
}

Result<Gpu*> Session::open_gpu(uint32_t ordinal, Connection& connection) {
    {
        const std::scoped_lock lock(mutex_);
        const auto known = gpus_.find(ordinal);
        if (known != gpus_.end()) return known->second.get();
    }
    PACE_TRY_ASSIGN(gpu, Gpu::open(ordinal));
    PACE_TRY_ASSIGN(order, connection.order_streams(*gpu, base::now() + connect_));
    gpu->set_order(std::move(order));
    const std::scoped_lock lock(mutex_);
    requests_.take_slots_in_turn();
    return gpus_.emplace(ordinal, std::move(gpu)).first->second.get();
}

// Shares the session's GPUs with a daemon that does not know them yet.
Result<> Session::share_gpus(Connection& connection, TimePoint deadline) {
    std::map<uint32_t, std::shared_ptr<Gpu>> gpus;
    {
        const std::scoped_lock lock(mutex_);
        gpus = gpus_;
    }
    for (const auto& [ordinal, gpu] : gpus) {
        PACE_TRY_ASSIGN(order, connection.order_streams(*gpu, deadline));
        const std::scoped_lock lock(mutex_);
        gpu->set_order(std::move(order));
    }
    return {};
}

}  // namespace pace::client
