#include "service/pacectl/findings/machine_findings.h"

#include <algorithm>
#include <array>

namespace pace::pacectl {

namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20U;
// Guesses: the memory that a UCX endpoint registers for itself, and container runtimes' default.
constexpr uint64_t kMemlockBytesMin = 64 * kMiB;
constexpr uint64_t kSharedMemoryBytesMin = 128 * kMiB;
constexpr uint64_t kMemoryBytesMin = 512 * kMiB;

// The transports that the daemon may use for data, as in UCX_TLS. An older daemon does not report
// them: then it may be any.
std::string transports_of(const Facts& facts) {
    if (!facts.daemon.document) return "all";
    const Json& document = *facts.daemon.document;
    if (truth(member(document, "controller"), "embedded")) return "nothing";
    return text(member(document, "data"), "transports", "all");
}

// Whether the list of transports (as in UCX_TLS) has one with this prefix, or "all".
bool moves_by(const std::string& transports, std::string_view prefix) {
    std::string_view rest = transports;
    while (!rest.empty()) {
        const size_t end = std::min(rest.find(','), rest.size());
        std::string_view word = rest.substr(0, end);
        if (word.starts_with('\\')) word.remove_prefix(1);
        if (word == "all" || word.starts_with(prefix)) return true;
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return false;
}

bool uses_rdma(const std::string& transports) {
    constexpr std::array kOfVerbs{"rc", "dc", "ud", "ib", "mlx"};
    return std::any_of(kOfVerbs.begin(), kOfVerbs.end(),
                       [&](const char* prefix) { return moves_by(transports, prefix); });
}

bool uses_gpus(const Facts& facts) {
    return facts.daemon.document &&
           !list(member(*facts.daemon.document, "gpus"), "devices").empty();
}

Finding judge_memlock(const Facts& facts) {
    const MachineFacts& machine = facts.machine;
    const char* whose = machine.memlock_is_of_daemon ? "the daemon" : "this shell";
    if (!machine.memlock_bytes)
        return warn("locked memory", "the limit could not be read", "look at ulimit -l");
    if (machine.memlock_is_infinite)
        return ok("locked memory", fmt::format("unlimited for {}", whose));
    const std::string what = fmt::format("{} may lock {}", whose,
                                         bytes_text(static_cast<double>(*machine.memlock_bytes)));
    if (*machine.memlock_bytes >= kMemlockBytesMin) return ok("locked memory", what);
    const std::string transports = transports_of(facts);
    if (!uses_rdma(transports) && !uses_gpus(facts))
        return ok("locked memory",
                  fmt::format("{}, and nothing is locked: data moves by {}", what, transports));
    return warn("locked memory", what + "; RDMA and GPUs cannot register large buffers",
                "LimitMEMLOCK=infinity in the daemon's unit, then restart it");
}

// Buffers are memfds, which the size of /dev/shm does not limit. Only UCX between processes of one
// machine, and NCCL, use /dev/shm.
Finding judge_shared_memory(const Facts& facts) {
    const std::string transports = transports_of(facts);
    const bool has_nccl =
        facts.daemon.document && member(member(*facts.daemon.document, "gpus"), "nccl").is_string();
    const bool is_used = has_nccl || moves_by(transports, "shm") || moves_by(transports, "posix") ||
                         moves_by(transports, "mm") || moves_by(transports, "sm");
    const auto& bytes = facts.machine.shared_memory_bytes;
    const std::string what =
        bytes ? fmt::format("{} free in /dev/shm", bytes_text(static_cast<double>(*bytes)))
              : std::string("/dev/shm is not there");
    if (!is_used)
        return ok("shared memory",
                  fmt::format("{}, which nothing needs: buffers are memfds, and data moves by {}",
                              what, transports));
    if (bytes && *bytes >= kSharedMemoryBytesMin) return ok("shared memory", what);
    return warn(
        "shared memory",
        fmt::format("{}, where {} queues", what, has_nccl ? "NCCL keeps its" : "UCX keeps its"),
        "mount a tmpfs there, or in a container give it more (--shm-size=1g)");
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

// The service manager or a container may give the daemon less than the machine has, and buffers
// count in this limit.
void judge_memory_limit(const Facts& facts, Findings& ret_findings) {
    const auto& limit = facts.machine.daemon_memory_max_bytes;
    if (!limit || !facts.daemon.document) return;
    const Json& limits = member(*facts.daemon.document, "limits");
    const char* bound = number(limits, "memory_max") > 0 ? "memory_max" : "user_bytes_max";
    const double kept = number(limits, bound);
    const std::string what = fmt::format("the daemon's control group may have {}",
                                         bytes_text(static_cast<double>(*limit)));
    if (kept > static_cast<double>(*limit))
        ret_findings.push_back(
            warn("memory", fmt::format("{}, and {} lets it keep {}", what, bound, bytes_text(kept)),
                 "lower that below it, or raise MemoryMax= (a container's limit): past it the "
                 "kernel ends the daemon"));
    else
        ret_findings.push_back(ok("memory", what));
}

// A frequent mistake: a second daemon that somebody forgot.
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

// Pace does not depend on the clock, but people compare logs of several nodes.
Finding judge_clock(const MachineFacts& machine) {
    if (!machine.clock_is_synchronized)
        return ok("clock", "the kernel does not say whether it is synchronized");
    if (*machine.clock_is_synchronized) return ok("clock", "synchronized, as the kernel says");
    return warn(
        "clock", "not synchronized: logs of several nodes cannot be read side by side",
        "timedatectl set-ntp true, or run another NTP client; Pace itself does not need it");
}

}  // namespace

void judge_machine(const Facts& facts, Findings& ret_findings) {
    const MachineFacts& machine = facts.machine;
    ret_findings.push_back(judge_other_daemons(machine));
    ret_findings.push_back(judge_memlock(facts));
    ret_findings.push_back(judge_shared_memory(facts));
    ret_findings.push_back(judge_memory(machine));
    judge_memory_limit(facts, ret_findings);
    ret_findings.push_back(judge_clock(machine));
    ret_findings.push_back(judge_library("UCX", machine.ucx_version, "libucx0"));
    ret_findings.push_back(judge_library("ZeroMQ", machine.zmq_version, "libzmq5"));
}

}  // namespace pace::pacectl
