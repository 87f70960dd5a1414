// NetworkFacts: whether the controller's port is reachable from here, and the largest packets to
// peers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "service/pacectl/console/document.h"
#include "service/pacectl/facts/tcp_paths.h"

namespace pace::pacectl {

struct NetworkFacts {
    std::string controller;  // as the daemon names it
    // Why a connection to the controller failed; "" if it succeeded. Absent: not tried, since the
    // daemon reaches the controller.
    std::optional<std::string> controller_port_failure;
    std::vector<TcpPath> paths;  // the daemon's connections
    std::string paths_failure;   // why they are unknown; empty if known
};

// `daemon` is the daemon's own document.
NetworkFacts look_at_network(const Json& daemon);

// "" if the TCP endpoint accepts a connection within some seconds, otherwise the reason.
std::string why_no_connection(const std::string& endpoint);

}  // namespace pace::pacectl
