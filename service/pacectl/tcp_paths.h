// TcpPaths: what the kernel knows of a process's TCP connections: how large packets to each peer may be.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace pace::pacectl {

struct TcpPath {
    std::string peer;  // its address
    bool is_loopback = false;
    uint32_t advertised_mss = 0;  // what this end takes, by the MTU of its interface
    uint32_t send_mss = 0;        // what the other end takes, or the path, less TCP's options
};

// Of the established connections of the process. Fails with denied if this user may not see which those are.
base::Result<std::vector<TcpPath>> tcp_paths_of(pid_t pid);

}  // namespace pace::pacectl
