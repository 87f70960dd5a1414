// BufferRequest: a checked request of a client for a buffer, and the memory made for the buffer.
#pragma once

#include <protocol/client_generated.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "daemon/device/device_block.h"
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
    // The client understands that a buffer lies in a block.
    bool takes_place = false;
    // Adopted GPU memory that lies in a block, at `offset`: the client's number of the block (0: it
    // lies in none), and the block's length.
    uint64_t block = 0;
    uint64_t block_bytes = 0;
    // The buffer neither inherits a former buffer's memory nor outlives this client.
    bool temporary = false;
    bool copied = false;  // as Buffer::copied

    size_t descriptors() const { return adopt && !handle ? 1 : 0; }
    uint64_t bytes() const { return count * protocol::size_of(dtype); }
    // Whether a new buffer on this device is to lie in a block.
    bool is_for_block(const device::Device& on) const {
        return takes_place && !adopt && on.facts().exports_descriptors && device::is_small(bytes());
    }
};

// Errors: invalid, for an unknown element type or an impossible length.
base::Result<BufferRequest> check_buffer(const protocol::client::BufferCreate& create);

// The error of adopted memory that cannot lie where the client says.
base::Error place_error(const BufferRequest& wanted);

// Memory that becomes a buffer: host memory, or the addresses of the twin on the host of a buffer
// on a GPU, which has no memory yet (gpu/host_twin.h).
struct NewMemory {
    uint64_t request = 0;
    BufferRequest wanted;
    // Descriptor of the memory to adopt. Its charge is part of the buffer's.
    base::UniqueFd fd;
    device::Device* device = nullptr;  // null: the host
    // Bytes charged to the trainer's quota, once they are.
    std::optional<uint64_t> charged{};
    // The user's charge, until the buffer takes it.
    Charge paid;
    // The buffer that is being made, if it lies in a block that the session has. Otherwise the
    // charge for its block, if a block is to be made or adopted for it.
    BufferPtr placed;
    std::shared_ptr<const Charge> block_paid;
    bool begun = false;
    base::MappedMemfd memory;  // until the buffer takes it
    base::Result<BufferPtr> buffer = BufferPtr();
};

// Makes new memory, populated and zero, or adopts the descriptor that came with the request if its
// seals are like ours. Call make_piece() until it returns false: then all memory is there or
// `buffer` holds an error. finish_memory() then makes the buffer, and the memory on the GPU or the
// block in which it lies; or clears the place in a block that the session has.
// Errors, in `buffer`: memory (too little of it), corrupt (a foreign descriptor), invalid (a place
// that is not in its block), the driver's.
// Threads: any. Blocks: make_piece() while the kernel finds memory for a piece, some milliseconds;
// finish_memory() while the driver finds and clears memory of the GPU.
bool make_piece(NewMemory& memory);
void finish_memory(NewMemory& memory);

}  // namespace pace::daemon
