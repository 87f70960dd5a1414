// BufferRequest: a buffer that a client asks for, checked, and the memory that it gets.
#pragma once

#include <protocol/client_generated.h>

#include <cstdint>
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

    uint64_t bytes() const { return count * protocol::size_of(dtype); }
};

// Errors: invalid, for a type that is none or a length that cannot be.
base::Result<BufferRequest> check_buffer(const protocol::client::BufferCreate& create);

// New memory on the host, populated and zero; or the descriptor that came with the request, if it is sealed as ours are. Of a
// buffer on a GPU, the twin.
// Errors: memory, where there is too little of it; corrupt, where the descriptor is missing or another's.
base::Result<BufferPtr> allocate(const BufferRequest& wanted, std::vector<base::UniqueFd>& fds);

}  // namespace pace::daemon
