// transfer: one node's bytes to one other, in chunks; how a node fetches a result that it missed,
// or a model.
#pragma once

#include <cstddef>
#include <span>

#include "base/result.h"
#include "base/task.h"
#include "daemon/collectives/communicator.h"

namespace pace::collectives {

struct TransferOptions {
    size_t chunk_bytes = 65536;  // equal on both sides
    size_t window = 16;          // chunks under way at once
};

// Sends `bytes` to `node`, which must run transfer_from with as many bytes. `bytes` stay unchanged
// until the end.
base::Task<base::Result<>> transfer_to(Communicator& communicator, size_t node,
                                       std::span<const std::byte> bytes, TransferOptions options);

// Receives bytes.size() bytes from `node`; undefined after an error.
base::Task<base::Result<>> transfer_from(Communicator& communicator, size_t node,
                                         std::span<std::byte> bytes, TransferOptions options);

}  // namespace pace::collectives
