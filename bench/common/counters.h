// counters.h: the kernel's counters for this process and its network interface.
#pragma once

#include <cstdint>
#include <string>

namespace pace::bench {

// Returns VmHWM of this process, or 0 if /proc does not tell it.
uint64_t peak_rss_bytes();

// Returns the bytes that `interface` of this network namespace has received, headers included.
// Returns 0 if there is no interface of this name.
uint64_t interface_received_bytes(const std::string& interface);

}  // namespace pace::bench
