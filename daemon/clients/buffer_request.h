// BufferRequest: a buffer that a client asks for, checked, and the memory that it gets.
#pragma once

#include <protocol/client_generated.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "daemon/exchange/buffer.h"
#include "protocol/types.h"

namespace pace::daemon {

struct BufferRequest {
    protocol::DType dtype = protocol::DType::f32;
    uint64_t count = 0;
    bool adopt = false;             // the client brings the memory, which an earlier daemon made
    std::vector<std::byte> device;  // the number of the GPU that it is to be on; empty: the host
    // Of memory on a GPU that is adopted without a descriptor: the block that it is in, and where.
    std::optional<base::cuda::CUipcMemHandle> handle{};
    uint64_t offset = 0;
    bool temporary = false;  // nobody's before, and nobody's after this client

    size_t descriptors() const { return adopt && !handle ? 1 : 0; }
    uint64_t bytes() const { return count * protocol::size_of(dtype); }
};

// Errors: invalid, for a type that is none or a length that cannot be.
base::Result<BufferRequest> check_buffer(const protocol::client::BufferCreate& create);

// What becomes a buffer: its memory on the host, or, of a buffer on a GPU, the twin there, pinned.
struct NewMemory {
    uint64_t request = 0;
    BufferRequest wanted;
    base::UniqueFd fd;                 // of what is to be adopted; charged as the buffer's own
    device::Device* device = nullptr;  // null: the host
    size_t charge = 0;                 // to its trainer
    Charge paid;                       // by its user, until it is the buffer's
    bool begun = false;
    base::MappedMemfd memory;  // until it is the buffer's
    base::Result<BufferPtr> buffer = BufferPtr();
    std::optional<device::PinnedMemory> pin;  // of a twin; none: it could not be
};

// New memory, populated and zero; or the descriptor that came with the request, if it is sealed as ours are.
// Errors, in `buffer`: memory, where there is too little of it; corrupt, where the descriptor is another's.
// make_piece() is called until it returns false: all of it is there, or there is an error. Then finish_memory() makes the buffer,
// and pins what is a twin.
// Threads: any. Blocks: for as long as the kernel takes to find memory for a piece, some milliseconds; to pin, for as long as the
// driver takes.
bool make_piece(NewMemory& memory);
void finish_memory(NewMemory& memory);

}  // namespace pace::daemon
