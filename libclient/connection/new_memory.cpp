#include "libclient/connection/new_memory.h"

#include <fcntl.h>

#include <cerrno>
#include <utility>

#include "libclient/memory/staging.h"

namespace pace::client {

using base::ErrorKind;
using base::make_error;
using base::Result;
using base::TimePoint;

namespace {

// A daemon that reserves memory writes every page. The daemon gets one second for this number of
// bytes. The number is a guess, four times slower than the slowest machine seen.
constexpr uint64_t kBytesPerSecond = uint64_t{256} << 20U;

// The largest buffer: as much as a process can map. The bound keeps sizes from overflowing.
constexpr uint64_t kBufferBytesMax = uint64_t{1} << 47U;

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
Result<NewBuffer> share_memory(Connection& connection, const MemoryRequest& request,
                               TimePoint deadline) {
    const int fd = request.imported.fd;
    base::UniqueFd own(fcntl(fd, F_DUPFD_CLOEXEC, 0));
    if (!own.valid())
        return make_error(ErrorKind::invalid, "options->fd is {}, which is no open descriptor: {}",
                          fd, base::make_errno_error(errno, "duplicate it").message);
    auto memory = base::MappedMemfd::adopt(std::move(own), request.bytes());
    if (!memory)
        return make_error(ErrorKind::invalid,
                          "options->fd is {}, which cannot be shared: {}; give a memfd of exactly "
                          "count elements, in whole pages, sealed with F_SEAL_SHRINK, F_SEAL_GROW "
                          "and F_SEAL_SEAL",
                          fd, memory.error().message);
    // The pages are populated here, at this process's cost. The daemon then finds every page.
    while (!memory->is_populated()) PACE_TRY(memory->populate(base::MappedMemfd::kPieceBytes));
    PACE_TRY_ASSIGN(daemon, connection.hand_buffer(request.type, request.count, memory->fd(),
                                                   HostMemory::temporary, deadline));
    return NewBuffer{daemon, std::move(*memory), nullptr, false, HostMemory::temporary};
}

// Gives the daemon memory of the trainer's own on a GPU.
Result<NewBuffer> share_memory(Connection& connection, const MemoryRequest& request, Gpu& gpu,
                               TimePoint deadline) {
    const Imported& imported = request.imported;
    auto shared = imported.pointer != nullptr ? gpu.share(imported.pointer, request.bytes())
                                              : gpu.share(imported.fd, request.bytes());
    if (!shared) return std::move(shared).error();
    PACE_TRY_ASSIGN(daemon,
                    connection.hand_buffer(request.type, request.count, **shared, deadline));
    return NewBuffer{daemon, {}, std::move(*shared)};
}

}  // namespace

Result<> check(const MemoryRequest& request) {
    PACE_TRY(check_elements(request.type, request.count));
    if (!request.is_outside()) return {};
    return check_outside(request.imported.pointer, request.count, request.type);
}

base::Duration time_to_make(const MemoryRequest& request) {
    return std::chrono::seconds(request.bytes() / kBytesPerSecond);
}

Result<NewBuffer> make_memory(Connection& connection, const MemoryRequest& request, Gpu* gpu,
                              TimePoint deadline) {
    const bool is_shared = request.imported.fd >= 0;
    if (gpu == nullptr) {
        if (is_shared) return share_memory(connection, request, deadline);
        HostMemory kind = HostMemory::inherited;
        if (request.imported.is_copy) kind = HostMemory::temporary;
        if (request.is_outside()) kind = HostMemory::copied;
        return connection.create_buffer(request.type, request.count, kind, deadline);
    }
    if (is_shared || request.imported.pointer != nullptr)
        return share_memory(connection, request, *gpu, deadline);
    return connection.create_buffer(request.type, request.count, *gpu, deadline);
}

}  // namespace pace::client
