// BufferRequest: a checked request of a client for a buffer, and the memory made for the buffer.
#pragma once

#include <protocol/client_generated.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "daemon/runtime/buffer.h"
#include "protocol/types.h"

namespace pace::daemon {

struct BufferRequest {
    protocol::DType dtype = protocol::DType::f32;
    uint64_t count = 0;
    // The client supplies the memory, which an earlier daemon made.
    bool adopt = false;
    // UUID of the GPU for the buffer; empty: host memory.
    std::vector<std::byte> device;
    // Adopted GPU memory without a descriptor: the handle of its block, and the offset in the
    // block.
    std::optional<base::cuda::CUipcMemHandle> handle{};
    uint64_t offset = 0;
    // The buffer neither inherits a former buffer's memory nor outlives this client.
    bool temporary = false;
    bool copied = false;  // as Buffer::copied

    size_t descriptors() const { return adopt && !handle ? 1 : 0; }
    uint64_t bytes() const { return count * protocol::size_of(dtype); }
};

// Errors: invalid, for an unknown element type or an impossible length.
base::Result<BufferRequest> check_buffer(const protocol::client::BufferCreate& create);

// Memory that becomes a buffer: host memory, or the pinned twin on the host of a buffer on a GPU.
struct NewMemory {
    uint64_t request = 0;
    BufferRequest wanted;
    // Descriptor of the memory to adopt. Its charge is part of the buffer's.
    base::UniqueFd fd;
    device::Device* device = nullptr;  // null: the host
    // Bytes charged to the trainer.
    size_t charge = 0;
    // The user's charge, until the buffer takes it.
    Charge paid;
    bool begun = false;
    base::MappedMemfd memory;  // until the buffer takes it
    base::Result<BufferPtr> buffer = BufferPtr();
};

// Makes new memory, populated and zero, or adopts the descriptor that came with the request if its
// seals are like ours. Call make_piece() until it returns false: then all memory is there or
// `buffer` holds an error. finish_memory() then makes the buffer, pins a twin and makes the memory
// on the GPU. Errors, in `buffer`: memory (too little of it), corrupt (a foreign descriptor), the
// driver's. Threads: any. Blocks: make_piece() while the kernel finds memory for a piece, some
// milliseconds; finish_memory() while the driver pins, and finds and clears memory of the GPU.
bool make_piece(NewMemory& memory);
void finish_memory(NewMemory& memory);

}  // namespace pace::daemon
