#include "service/pacectl/findings/findings.h"

#include "service/pacectl/facts/key_findings.h"
#include "service/pacectl/findings/cluster_findings.h"
#include "service/pacectl/findings/gpu_findings.h"
#include "service/pacectl/findings/machine_findings.h"
#include "service/pacectl/findings/network_findings.h"

namespace pace::pacectl {

namespace {

Finding judge_socket(const SocketFacts& socket) {
    if (!socket.exists)
        return fail("socket", printable(socket.looked_at),
                    "start the daemon (systemctl start paced), or name its socket with --endpoint "
                    "or PACE_ENDPOINT");
    if (!socket.looked_at.empty())
        return fail("socket", printable(socket.looked_at),
                    "the folder of the socket is closed to you; ask for membership in the group "
                    "pace");
    if (!socket.is_socket)
        return fail("socket", fmt::format("{} is not a socket", socket.path),
                    "name the daemon's socket with --endpoint or PACE_ENDPOINT");
    const std::string access =
        fmt::format("{} belongs to {}:{}, mode {:04o}", socket.path, socket.owner, socket.group,
                    static_cast<unsigned>(socket.mode));
    if (!socket.may_connect)
        return fail("socket", access + ": you may not connect",
                    fmt::format("usermod --append --groups {} USER as root, then log in again",
                                socket.group));
    constexpr mode_t kOthers = 0006;
    if ((socket.mode & kOthers) != 0)
        return warn("socket", access + ": everybody may connect",
                    "set socket_group in the daemon's configuration and restart it");
    return ok("socket", access);
}

Finding judge_daemon(const DaemonFacts& daemon) {
    if (daemon.refused)
        return fail("daemon", printable(daemon.refused->message),
                    "read its last lines: journalctl --unit paced --lines 50");
    const std::string what = fmt::format("answers, version {}", printable(daemon.version));
    if (daemon.version != PACE_VERSION)
        return warn("daemon", fmt::format("{}; pacectl is {}", what, PACE_VERSION),
                    "restart the daemon after an upgrade: systemctl restart paced");
    return ok("daemon", what);
}

Finding judge_controller(const DaemonFacts& daemon) {
    const Json& controller = member(*daemon.document, "controller");
    if (truth(controller, "embedded"))
        return ok("controller", "runs in the daemon's process (no `controller` is configured)");
    const std::string endpoint = text(controller, "endpoint");
    // The daemon knows the reason and says what to do.
    if (member(*daemon.document, "controller_problem").is_string())
        return fail("controller", text(*daemon.document, "controller_problem"),
                    "docs/troubleshooting.md, \"The controller and its daemons\", has each reason");
    if (!truth(controller, "reachable") || daemon.status_error)
        return fail("controller",
                    daemon.status_error
                        ? fmt::format("{}: {}", endpoint, printable(daemon.status_error->message))
                        : fmt::format("{} does not answer", endpoint),
                    "is pace-controller running there, does its `listen` name this address, is the "
                    "port open, and do curve_server_key_file and the keys match?");
    return ok("controller", endpoint + " answers");
}

bool is_loopback(std::string_view place) {
    return place == "lo" || place.starts_with("127.") || place.starts_with("::1") ||
           place.starts_with("[::1]") || place.starts_with("localhost");
}

Finding judge_data(const Json& daemon) {
    const Json& data = member(daemon, "data");
    if (truth(member(daemon, "controller"), "embedded"))
        return ok("data", "stays on this machine (no `controller` is configured)");
    const std::string place = text(data, "address", text(data, "interface"));
    const std::string what = fmt::format("{} at {}", text(data, "transport"), place);
    if (is_loopback(place))
        return warn("data", what + ": other machines cannot reach it",
                    "set data_interface to the network that the nodes share");
    return ok("data", what);
}

// Judges how much the users of a daemon have it keep.
Finding judge_users(const Json& daemon, double nearly) {
    const Json& limits = member(daemon, "limits");
    const double bytes_max = number(limits, "user_bytes_max");
    const double clients_max = number(limits, "user_clients_max");
    for (const Json& user : list(daemon, "users")) {
        if (bytes_max > 0 && number(user, "bytes") > nearly * bytes_max)
            return warn("clients",
                        fmt::format("user {} has {} of at most {} kept", text(user, "uid"),
                                    bytes_text(number(user, "bytes")), bytes_text(bytes_max)),
                        "raise user_bytes_max");
        if (clients_max > 0 && number(user, "clients") > nearly * clients_max)
            return warn("clients",
                        fmt::format("user {} has {} connections of at most {}", text(user, "uid"),
                                    text(user, "clients"), text(limits, "user_clients_max")),
                        "raise user_clients_max");
    }
    return ok("clients", fmt::format("{} connected", list(daemon, "clients").size()));
}

Finding judge_clients(const Json& daemon) {
    const Json& limits = member(daemon, "limits");
    const double clients_max = number(limits, "clients_max");
    const double bytes_max = number(limits, "client_bytes_max");
    const Json& clients = list(daemon, "clients");
    constexpr double kNearly = 0.9;
    if (clients_max > 0 && static_cast<double>(clients.size()) > kNearly * clients_max)
        return warn("clients",
                    fmt::format("{} of at most {} are connected", clients.size(),
                                text(limits, "clients_max")),
                    "raise clients_max");
    for (const Json& client : clients) {
        if (bytes_max > 0 && number(client, "bytes") > kNearly * bytes_max)
            return warn("clients",
                        fmt::format("process {} holds {} of at most {}", text(client, "pid"),
                                    bytes_text(number(client, "bytes")), bytes_text(bytes_max)),
                        "raise client_bytes_max");
    }
    return judge_users(daemon, kNearly);
}

}  // namespace

Findings judge(const Facts& facts) {
    Findings findings;
    if (facts.endpoint.kind == client::EndpointKind::unix_socket)
        findings.push_back(judge_socket(facts.socket));
    findings.push_back(judge_daemon(facts.daemon));
    if (facts.daemon.document) {
        findings.push_back(judge_controller(facts.daemon));
        findings.push_back(judge_data(*facts.daemon.document));
        findings.push_back(judge_clients(*facts.daemon.document));
    } else if (facts.daemon.document_error) {
        findings.push_back(warn("daemon", printable(facts.daemon.document_error->message),
                                "restart the daemon after an upgrade: systemctl restart paced"));
    }
    judge_network(facts, findings);
    if (facts.daemon.document) judge_gpus(facts, findings);
    judge_cluster(facts, findings);
    judge_keys(facts.keys, findings);
    judge_machine(facts, findings);
    return findings;
}

}  // namespace pace::pacectl
