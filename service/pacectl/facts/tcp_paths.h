// TcpPaths: the kernel's data on a process's TCP connections: the largest packets to each peer.
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
    uint32_t advertised_mss = 0;  // what this end accepts, by its interface's MTU
    uint32_t send_mss = 0;        // what the peer or the path accepts, less options
};

// The established connections of the process. Fails with denied if this user may not see them.
base::Result<std::vector<TcpPath>> tcp_paths_of(pid_t pid);

}  // namespace pace::pacectl
