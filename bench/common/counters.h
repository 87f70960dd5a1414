// counters.h: what the kernel counts for this process and its network interface.
#pragma once

#include <cstdint>
#include <string>

namespace pace::bench {

// VmHWM of this process, 0 when /proc does not tell.
uint64_t peak_rss_bytes();

// Bytes that `interface` of this network namespace has received, headers included; 0 if there is none
// of that name.
uint64_t interface_received_bytes(const std::string& interface);

}  // namespace pace::bench
