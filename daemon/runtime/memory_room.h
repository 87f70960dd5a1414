// MemoryRoom: how much memory there is for data whose size clients and peers choose. The kernel
// hands memory out page by page; when none is left it does not refuse but kills some process. So
// the daemon checks first.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "base/result.h"

namespace pace::daemon {

inline constexpr uint64_t kUnknownRoom = std::numeric_limits<uint64_t>::max();

// The number after `name` in lines of /proc/meminfo ("Name: 12 kB") or of a memory.stat ("name
// 12"), in bytes; `fallback` if there is none.
uint64_t bytes_after(const std::string& text, const std::string& name, uint64_t fallback);

// Bytes that can be taken without evicting anything: the machine's, and those of this process's
// control groups (version 2).
uint64_t memory_room();

// All memory that this process could have, used or not: the machine's, or its control groups' if
// these allow less.
uint64_t memory_total();

// The machine's memory, whatever its control groups allow this process. Zeros: not known.
struct HostMemory {
    uint64_t bytes = 0;
    uint64_t available_bytes = 0;
};
HostMemory host_memory();

// Refuses an amount that would leave nearly nothing of `room` for others; the error names `what`
// ("a buffer"). ErrorKind::memory.
base::Result<> check_memory_room(std::string_view what, uint64_t bytes, uint64_t room);

}  // namespace pace::daemon
