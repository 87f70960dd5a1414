// Memory for a new buffer: memory that the daemon makes, or memory that the trainer has already.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/clock.h"
#include "base/result.h"
#include "libclient/connection/connection.h"
#include "protocol/types.h"

namespace pace::client {

// Memory that the trainer has already. If no field is set, the buffer gets new memory.
struct Imported {
    // The trainer's memory. Memory on a GPU is shared. Memory of the host is staged: a call copies
    // the memory in, and the end of the call copies the result back.
    std::byte* pointer = nullptr;
    // The descriptor of a memfd, or of an allocation on a GPU. The caller keeps the descriptor.
    int fd = -1;
    // The buffer gets new memory, for a copy of another buffer.
    bool is_copy = false;
};

// The elements of a new buffer, and their memory.
struct MemoryRequest {
    protocol::DType type = protocol::DType::f32;
    uint64_t count = 0;
    bool on_gpu = false;
    Imported imported{};

    uint64_t bytes() const { return count * size_of(type); }
    // The buffer's memory is the trainer's own, on the host, where the daemon cannot map it.
    bool is_outside() const { return imported.pointer != nullptr && !on_gpu; }
};

// Fails with `invalid`. The message names the argument.
base::Result<> check(const MemoryRequest& request);

// How long a daemon may take to reserve the memory.
base::Duration time_to_make(const MemoryRequest& request);

// Makes the memory with the daemon. `gpu` is null for memory of the host.
base::Result<NewBuffer> make_memory(Connection& connection, const MemoryRequest& request, Gpu* gpu,
                                    base::TimePoint deadline);

}  // namespace pace::client
