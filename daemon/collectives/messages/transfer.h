// transfer: sends one node's bytes to one other node, in chunks. A node uses it to fetch a model or
// a result that it missed.
#pragma once

#include <cstddef>
#include <span>

#include "base/loop/task.h"
#include "base/result.h"
#include "daemon/collectives/messages/communicator.h"

namespace pace::collectives {

struct TransferOptions {
    size_t chunk_bytes = 65536;  // equal on both sides
    size_t window = 16;          // chunks in flight at once
};

// Sends `bytes` to `node`, which must run transfer_from with the same size. `bytes` must not change
// until the end.
base::Task<base::Result<>> transfer_to(Communicator& communicator, size_t node,
                                       std::span<const std::byte> bytes, TransferOptions options);

// Receives bytes.size() bytes from `node`. `bytes` is undefined after an error.
base::Task<base::Result<>> transfer_from(Communicator& communicator, size_t node,
                                         std::span<std::byte> bytes, TransferOptions options);

}  // namespace pace::collectives
