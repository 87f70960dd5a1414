// DataPlane: this node's transport to the other nodes, as its configuration wants it.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "daemon/node.h"
#include "transports/memory/memory_network.h"
#include "transports/transport.h"

namespace pace::daemon {

struct DataPlane {
    std::string devices = "none";  // the network devices, as UCX names them, or addresses
    // A daemon with its own controller has no other nodes: then nothing leaves the process, and no
    // port is opened. Must outlive the transport.
    std::unique_ptr<transports::MemoryNetwork> lonely;
    std::unique_ptr<transports::Transport> transport;
};

// Opens the data port, if there is one. Fails if the configuration names no device of this machine,
// or has UCX listen where others than the cluster's nodes may reach it.
base::Result<DataPlane> open_data_plane(const NodeConfig& config);

// Whether nobody but the cluster's nodes can reach these interfaces from other machines.
bool is_closed(const NodeConfig& config, const std::string& devices);

}  // namespace pace::daemon
