// Handing: giving a new daemon the memory of the buffers that the session has already.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "libclient/connection/buffer.h"
#include "libclient/connection/connection.h"

namespace pace::client {

// A buffer that a new daemon gets.
struct Handing {
    protocol::DType type = protocol::DType::f32;
    uint64_t count = 0;
    // The descriptor of the host's memory. The buffer table owns the descriptor.
    int memory = -1;
    HostMemory kind = HostMemory::inherited;
    std::shared_ptr<const GpuMemory> gpu_memory;
};

// The buffers in use, in the table's order. Fails with `closed` if the memory of one of them was
// lost with the old daemon.
base::Result<std::vector<Handing>> buffers_to_hand(const BufferTable& buffers);

// Returns the new daemon's names of the buffers, in the same order.
base::Result<std::vector<DaemonBuffer>> hand(Connection& connection,
                                             const std::vector<Handing>& buffers,
                                             base::TimePoint deadline);

}  // namespace pace::client
