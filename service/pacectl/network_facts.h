// NetworkFacts: whether the controller's port can be reached from here, and how large packets to peers may be.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "service/pacectl/document.h"
#include "service/pacectl/tcp_paths.h"

namespace pace::pacectl {

struct NetworkFacts {
    std::string controller;  // as the daemon names it
    // Why no connection to it could be made; "" if one was. Absent: not tried, because the daemon reaches it.
    std::optional<std::string> controller_port_failure;
    std::vector<TcpPath> paths;  // the daemon's connections
    std::string paths_failure;   // why they are not known; empty if they are
};

// `daemon`: what the daemon says of itself.
NetworkFacts look_at_network(const Json& daemon);

// "" if the TCP endpoint accepts a connection within some seconds, else why not.
std::string why_no_connection(const std::string& endpoint);

}  // namespace pace::pacectl
