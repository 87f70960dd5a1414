#include "service/pacectl/findings/network_findings.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace pace::pacectl {

namespace {

// IPv4's and TCP's headers and TCP's timestamps in each packet; both MSS values exclude them.
constexpr uint32_t kHeaderBytes = 52;
// Even between equal ends, one may use options that the other does not.
constexpr uint32_t kSlackBytes = 60;

bool takes_less(const TcpPath& path) {
    return !path.is_loopback && path.send_mss > 0 &&
           path.send_mss + kSlackBytes < path.advertised_mss;
}

void judge_port(const NetworkFacts& network, Findings& ret_findings) {
    if (!network.controller_port_failure) return;
    if (network.controller_port_failure->empty())
        ret_findings.push_back(
            ok("port", fmt::format("{} accepts connections", network.controller)));
    else
        ret_findings.push_back(fail(
            "port", fmt::format("{}: {}", network.controller, *network.controller_port_failure),
            "is pace-controller running there, and does a firewall let this node through?"));
}

void judge_packets(const NetworkFacts& network, Findings& ret_findings) {
    if (!network.paths_failure.empty()) {
        ret_findings.push_back(ok(
            "packets",
            "this user may not see the daemon's connections (root may): " + network.paths_failure));
        return;
    }
    std::map<std::string, TcpPath> smaller;
    uint32_t largest = 0;
    for (const TcpPath& path : network.paths) {
        if (!path.is_loopback) largest = std::max(largest, path.advertised_mss);
        if (takes_less(path)) smaller[path.peer] = path;
    }
    if (largest == 0) return;
    std::vector<std::string> peers;
    for (const auto& [peer, path] : smaller)
        peers.push_back(fmt::format("{} {}", peer, path.send_mss + kHeaderBytes));
    const std::string ours =
        fmt::format("this node's interface sends packets of {} bytes", largest + kHeaderBytes);
    if (peers.empty())
        ret_findings.push_back(ok("packets", ours + ", and so do its peers'"));
    else
        ret_findings.push_back(
            warn("packets", fmt::format("{}, less get through to {}", ours, named(peers)),
                 "give all nodes' data interfaces, and the switches between them, the same MTU (ip "
                 "link)"));
}

}  // namespace

void judge_network(const Facts& facts, Findings& ret_findings) {
    judge_port(facts.network, ret_findings);
    judge_packets(facts.network, ret_findings);
}

}  // namespace pace::pacectl
