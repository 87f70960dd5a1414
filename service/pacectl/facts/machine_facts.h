// MachineFacts: this machine's limits, memory, libraries, clock and daemons.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "service/pacectl/console/document.h"

namespace pace::pacectl {

struct MachineFacts {
    std::optional<uint64_t> memlock_bytes;  // of the daemon if known, or of this shell
    bool memlock_is_of_daemon = false;
    bool memlock_is_infinite = false;
    std::optional<uint64_t> shared_memory_bytes;  // free in /dev/shm
    std::optional<uint64_t> memory_available_bytes;
    std::optional<uint64_t> daemon_memory_max_bytes;  // of its control group; absent: no limit
    std::vector<int> daemons;                         // process ids of all paced on this machine
    std::string ucx_version;                          // empty: no such library
    std::string zmq_version;
    bool ucx_moves_gpu_memory = false;  // its CUDA modules are present
    std::optional<bool> clock_is_synchronized;
    uint64_t unix_ms = 0;
};

// `daemon` is the daemon's own document, if any.
MachineFacts look_at_machine(const std::optional<Json>& daemon);

// The soft limit `name` in the text of /proc/PID/limits. Absent if it is not there; the largest
// number if unlimited.
std::optional<uint64_t> limit_in(std::string_view limits, std::string_view name);

}  // namespace pace::pacectl
