// MemoryRoom: what memory there is for what clients and peers size. Memory is given out page by page, and where none is left the kernel does
// not refuse but kills, anybody. So the daemon looks first.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "base/result.h"

namespace pace::daemon {

inline constexpr uint64_t kUnknownRoom = std::numeric_limits<uint64_t>::max();

// The number after `name` in the lines of /proc/meminfo ("Name: 12 kB") or of a memory.stat ("name 12"), in bytes; `fallback`
// if it is not there.
uint64_t bytes_after(const std::string& text, const std::string& name, uint64_t fallback);

// Bytes that can be taken without pushing anybody out: of the machine, and of the control groups (version 2) of this process.
uint64_t memory_room();

// All memory there is for this process, used or not: of the machine, or of its control groups if they allow less.
uint64_t memory_total();

// Refuses what would leave nearly nothing of `room` for everybody else; the error names it ("a buffer"). Errors: memory.
base::Result<> check_memory_room(std::string_view what, uint64_t bytes, uint64_t room);

}  // namespace pace::daemon
