#include "service/pacectl/findings.h"

#include "service/pacectl/gpu_findings.h"

#include <algorithm>
#include <utility>

namespace pace::pacectl {

namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20U;
// Guesses: what a UCX endpoint registers for itself, and the default of container runtimes.
constexpr uint64_t kMemlockBytesMin = 64 * kMiB;
constexpr uint64_t kSharedMemoryBytesMin = 128 * kMiB;
constexpr uint64_t kMemoryBytesMin = 512 * kMiB;

Finding ok(std::string subject, std::string what) {
    return {Verdict::ok, std::move(subject), std::move(what), {}};
}
Finding warn(std::string subject, std::string what, std::string advice) {
    return {Verdict::warn, std::move(subject), std::move(what), std::move(advice)};
}
Finding fail(std::string subject, std::string what, std::string advice) {
    return {Verdict::fail, std::move(subject), std::move(what), std::move(advice)};
}

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

Finding judge_memlock(const MachineFacts& machine) {
    const char* whose = machine.memlock_is_of_daemon ? "the daemon" : "this shell";
    if (!machine.memlock_bytes)
        return warn("locked memory", "the limit could not be read", "look at ulimit -l");
    if (machine.memlock_is_infinite)
        return ok("locked memory", fmt::format("unlimited for {}", whose));
    const std::string what = fmt::format("{} may lock {}", whose,
                                         bytes_text(static_cast<double>(*machine.memlock_bytes)));
    if (*machine.memlock_bytes < kMemlockBytesMin)
        return warn(
            "locked memory", what + "; RDMA cannot register large buffers",
            "LimitMEMLOCK=infinity in the daemon's unit; without RDMA this does not matter");
    return ok("locked memory", what);
}

Finding judge_shared_memory(const MachineFacts& machine) {
    if (!machine.shared_memory_bytes)
        return warn("shared memory", "/dev/shm is not there", "mount a tmpfs on /dev/shm");
    const std::string what = fmt::format(
        "{} free in /dev/shm", bytes_text(static_cast<double>(*machine.shared_memory_bytes)));
    if (*machine.shared_memory_bytes < kSharedMemoryBytesMin)
        return warn("shared memory", what,
                    "in a container, give it more (--shm-size=1g); UCX keeps its queues there");
    return ok("shared memory", what);
}

Finding judge_memory(const MachineFacts& machine) {
    if (!machine.memory_available_bytes)
        return warn("memory", "/proc/meminfo could not be read", "look at free -h");
    const std::string what =
        fmt::format("{} available for buffers",
                    bytes_text(static_cast<double>(*machine.memory_available_bytes)));
    if (*machine.memory_available_bytes < kMemoryBytesMin)
        return warn("memory", what, "stop other programs or give the machine more");
    return ok("memory", what);
}

// The oldest trap of such daemons: a second one that somebody forgot.
Finding judge_other_daemons(const MachineFacts& machine) {
    if (machine.daemons.size() <= 1) return ok("processes", "no second daemon on this machine");
    std::string pids;
    for (const int pid : machine.daemons) pids += fmt::format(" {}", pid);
    return warn("processes", fmt::format("{} daemons run here:{}", machine.daemons.size(), pids),
                "unless this is a test of several nodes on one machine, stop all but one");
}

Finding judge_library(const char* name, const std::string& version, const char* package) {
    if (version.empty())
        return fail("libraries", fmt::format("{} cannot be loaded", name),
                    fmt::format("install {}", package));
    return ok("libraries", fmt::format("{} {}", name, version));
}

// What the users of a daemon have it keep.
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

std::vector<Finding> judge(const Facts& facts) {
    std::vector<Finding> findings;
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
    if (facts.daemon.document) judge_gpus(facts, findings);
    findings.push_back(judge_other_daemons(facts.machine));
    findings.push_back(judge_memlock(facts.machine));
    findings.push_back(judge_shared_memory(facts.machine));
    findings.push_back(judge_memory(facts.machine));
    findings.push_back(judge_library("UCX", facts.machine.ucx_version, "libucx0"));
    findings.push_back(judge_library("ZeroMQ", facts.machine.zmq_version, "libzmq5"));
    return findings;
}

bool any_failed(const std::vector<Finding>& findings) {
    return std::any_of(findings.begin(), findings.end(),
                       [](const Finding& finding) { return finding.verdict == Verdict::fail; });
}

std::string findings_text(const std::vector<Finding>& findings) {
    std::string lines;
    size_t warnings = 0;
    size_t failures = 0;
    for (const Finding& finding : findings) {
        if (finding.verdict == Verdict::warn) ++warnings;
        if (finding.verdict == Verdict::fail) ++failures;
        const char* verdict = finding.verdict == Verdict::ok     ? "ok"
                              : finding.verdict == Verdict::warn ? "warn"
                                                                 : "FAIL";
        lines += fmt::format("{:<4}  {:<13}  {}\n", verdict, finding.subject, finding.what);
        if (!finding.advice.empty()) lines += fmt::format("{:21}→ {}\n", "", finding.advice);
    }
    if (failures + warnings == 0) return lines + "\nall is well\n";
    return lines + fmt::format("\n{} failed, {} to look at\n", failures, warnings);
}

}  // namespace pace::pacectl
