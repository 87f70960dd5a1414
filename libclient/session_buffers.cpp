// Buffers: making, freeing, and releasing them to be freed later.
#include <fcntl.h>

#include <cerrno>

#include "libclient/joining.h"
#include "libclient/session.h"

namespace pace::client {

using base::ErrorKind;
using base::make_error;
using base::Result;
using base::TimePoint;

namespace {

// A daemon that reserves memory writes every page. The daemon gets one second for this number of
// bytes. The number is a guess, four times slower than the slowest machine seen.
constexpr uint64_t kBytesPerSecond = uint64_t{256} << 20U;

base::Duration time_for(uint64_t bytes) {
    return std::chrono::seconds(bytes / kBytesPerSecond);
}

// The largest buffer: as much as a process can map. The bound keeps sizes from overflowing.
constexpr uint64_t kBufferBytesMax = uint64_t{1} << 47U;

bool is_null(BufferHandle handle) {
    return handle.session == 0 && handle.index == 0 && handle.generation == 0;
}

Result<> check_elements(protocol::DType type, uint64_t count) {
    if (!is_valid(type))
        return make_error(ErrorKind::invalid, "type is {}; use PACE_F32, _F64, _F16 or _BF16",
                          static_cast<unsigned>(type));
    if (count == 0 || count > kBufferBytesMax / size_of(type))
        return make_error(ErrorKind::invalid, "count is {}; give 1 to {} elements of type {}",
                          count, kBufferBytesMax / size_of(type), name_of(type));
    return {};
}

// Checks memory of the trainer's own.
Result<> check_outside(const std::byte* outside, uint64_t count, protocol::DType type) {
    const size_t element_bytes = size_of(type);
    if (reinterpret_cast<uintptr_t>(outside) % element_bytes != 0)
        return make_error(ErrorKind::invalid,
                          "options->pointer is {}, which is not aligned for elements of {} bytes; "
                          "begin at an element",
                          static_cast<const void*>(outside), element_bytes);
    if (is_writable(outside, count * element_bytes)) return {};
    return make_error(ErrorKind::invalid,
                      "options->pointer is {}, from where on this process cannot read and write "
                      "{} bytes; give memory that is mapped, of all {} elements",
                      static_cast<const void*>(outside), count * element_bytes, count);
}

// Gives the daemon a memfd of the trainer's own.
Result<NewBuffer> share_memory(Connection& connection, protocol::DType type, uint64_t count, int fd,
                               TimePoint deadline) {
    const size_t bytes = count * size_of(type);
    base::UniqueFd own(fcntl(fd, F_DUPFD_CLOEXEC, 0));
    if (!own.valid())
        return make_error(ErrorKind::invalid, "options->fd is {}, which is no open descriptor: {}",
                          fd, base::make_errno_error(errno, "duplicate it").message);
    auto memory = base::MappedMemfd::adopt(std::move(own), bytes);
    if (!memory)
        return make_error(ErrorKind::invalid,
                          "options->fd is {}, which cannot be shared: {}; give a memfd of exactly "
                          "count elements, in whole pages, sealed with F_SEAL_SHRINK, F_SEAL_GROW "
                          "and F_SEAL_SEAL",
                          fd, memory.error().message);
    // The pages are populated here, at this process's cost. The daemon then finds every page.
    while (!memory->is_populated()) PACE_TRY(memory->populate(base::MappedMemfd::kPieceBytes));
    PACE_TRY_ASSIGN(daemon, connection.hand_buffer(type, count, memory->fd(), true, deadline));
    return NewBuffer{daemon, std::move(*memory), nullptr, false, true};
}

// Gives the daemon memory of the trainer's own on a GPU.
Result<NewBuffer> share_memory(Connection& connection, protocol::DType type, uint64_t count,
                               Gpu& gpu, const Imported& imported, TimePoint deadline) {
    const size_t bytes = count * size_of(type);
    auto shared = imported.pointer != nullptr ? gpu.share(imported.pointer, bytes)
                                              : gpu.share(imported.fd, bytes);
    if (!shared) return std::move(shared).error();
    PACE_TRY_ASSIGN(daemon, connection.hand_buffer(type, count, **shared, deadline));
    return NewBuffer{daemon, {}, std::move(*shared)};
}

}  // namespace

Result<CreatedBuffer> Session::create_buffer(protocol::DType type, uint64_t count, uint32_t device,
                                             const Imported& imported) {
    PACE_TRY(check_open());
    PACE_TRY(check_elements(type, count));
    const bool is_outside = imported.pointer != nullptr && device == 0;
    if (is_outside) PACE_TRY(check_outside(imported.pointer, count, type));

    const std::scoped_lock setup(setup_mutex_);
    PACE_TRY(reconnect());
    free_released();
    std::shared_ptr<Connection> connection;
    {
        const std::scoped_lock lock(mutex_);
        buffers_.reserve();
        connection = connection_;
    }
    const TimePoint deadline = base::now() + connect_ + time_for(count * size_of(type));
    Gpu* gpu = nullptr;
    if (device != 0) {
        PACE_TRY_ASSIGN(opened, open_gpu(device - 1, *connection));
        gpu = opened;
    }
    const auto make = [&]() -> Result<NewBuffer> {
        if (gpu != nullptr && (imported.pointer != nullptr || imported.fd >= 0))
            return share_memory(*connection, type, count, *gpu, imported, deadline);
        if (imported.fd >= 0) return share_memory(*connection, type, count, imported.fd, deadline);
        return gpu != nullptr ? connection->create_buffer(type, count, *gpu, deadline)
                              : connection->create_buffer(type, count,
                                                          is_outside || imported.is_copy, deadline);
    };
    auto made = make();

    const std::scoped_lock lock(mutex_);
    if (!made) {
        (void)is_connected();
        return settled(std::move(made).error());
    }
    const BufferHandle handle =
        buffers_.add(type, count, std::move(*made), is_outside ? imported.pointer : nullptr);
    return CreatedBuffer{handle, buffers_.at(handle.index).data()};
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
    {
        const std::scoped_lock lock(mutex_);
        if (is_connected()) connection = connection_;
        daemon = buffers_.at(index).daemon;
    }
    // Without a daemon there is nobody to tell. The buffer is not handed to the next daemon.
    Result<> told;
    if (connection) told = connection->free_buffer(daemon.index, base::now() + connect_);

    const std::scoped_lock lock(mutex_);
    if (!told && is_connected()) {
        buffers_.at(index).freeing = false;
        return told;
    }
    buffers_.remove(index);
    return {};
}

}  // namespace pace::client
