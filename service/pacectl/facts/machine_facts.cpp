#include "service/pacectl/facts/machine_facts.h"

#include <dlfcn.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/timex.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <system_error>

#include "service/pacectl/console/local_time.h"

namespace pace::pacectl {

namespace {

// Files in /proc have no size: read to the end.
std::string read_file(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::optional<uint64_t> number_in(std::string_view text) {
    const size_t first = text.find_first_not_of(" \t");
    if (first == std::string_view::npos) return std::nullopt;
    uint64_t number = 0;
    const auto [end, error] =
        std::from_chars(text.data() + first, text.data() + text.size(), number);
    return error == std::errc{} ? std::optional(number) : std::nullopt;
}

// The kernel cuts process names to 15 characters; "paced" is shorter.
std::vector<int> processes_named(std::string_view name) {
    std::vector<int> found;
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
        const std::string pid = entry.path().filename();
        const auto number = number_in(pid);
        if (number && read_file("/proc/" + pid + "/comm") == std::string(name) + "\n")
            found.push_back(static_cast<int>(*number));
    }
    std::sort(found.begin(), found.end());
    return found;
}

// A library that is loaded only to query its version; pacectl itself needs neither. It stays
// loaded: UCX installs hooks in the process and does not support unloading.
class Library {
  public:
    explicit Library(const char* name)
        : handle_(dlopen(name, RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE)) {}

    template <typename Function>
    Function* function(const char* name) const {
        return handle_ == nullptr ? nullptr : reinterpret_cast<Function*>(dlsym(handle_, name));
    }

  private:
    void* handle_;
};

std::string ucx_version() {
    const Library library("libucp.so.0");
    auto* const version = library.function<const char*()>("ucp_get_version_string");
    return version == nullptr ? std::string() : printable(version());
}

std::string zmq_version() {
    const Library library("libzmq.so.5");
    auto* const version = library.function<void(int*, int*, int*)>("zmq_version");
    if (version == nullptr) return {};
    std::array<int, 3> parts{};
    version(&parts[0], &parts[1], &parts[2]);
    return fmt::format("{}.{}.{}", parts[0], parts[1], parts[2]);
}

// UCX looks for its modules in a folder next to the library.
bool ucx_moves_gpu_memory() {
    const Library library("libucp.so.0");
    Dl_info where{};
    const auto* const symbol =
        reinterpret_cast<const void*>(library.function<void()>("ucp_get_version_string"));
    if (symbol == nullptr || dladdr(symbol, &where) == 0 || where.dli_fname == nullptr)
        return false;
    const auto folder = std::filesystem::path(where.dli_fname).parent_path() / "ucx";
    std::error_code unreadable;
    return std::filesystem::exists(folder / "libuct_cuda.so.0", unreadable) ||
           std::filesystem::exists(folder / "libuct_cuda.so", unreadable);
}

void look_at_limits(MachineFacts& facts, const std::optional<Json>& daemon) {
    if (daemon && count(*daemon, "pid") > 0) {
        const std::string limits = read_file(fmt::format("/proc/{}/limits", count(*daemon, "pid")));
        facts.memlock_bytes = limit_in(limits, "Max locked memory");
        facts.memlock_is_of_daemon = facts.memlock_bytes.has_value();
    }
    rlimit limit{};
    if (!facts.memlock_bytes && getrlimit(RLIMIT_MEMLOCK, &limit) == 0)
        facts.memlock_bytes =
            limit.rlim_cur == RLIM_INFINITY ? std::numeric_limits<uint64_t>::max() : limit.rlim_cur;
    facts.memlock_is_infinite = facts.memlock_bytes == std::numeric_limits<uint64_t>::max();
}

// The limit set by a service manager or container; none if there is none.
std::optional<uint64_t> memory_limit_of(uint64_t pid) {
    constexpr std::string_view kUnified = "0::";
    const std::string groups = read_file(fmt::format("/proc/{}/cgroup", pid));
    const size_t at = groups.find(kUnified);
    if (at == std::string::npos) return std::nullopt;
    const std::string_view path = std::string_view(groups).substr(at + kUnified.size());
    return number_in(
        read_file(fmt::format("/sys/fs/cgroup{}/memory.max", path.substr(0, path.find('\n')))));
}

// None if the kernel does not tell.
std::optional<bool> is_clock_synchronized() {
    timex state{};
    const int clock = adjtimex(&state);
    if (clock < 0) return std::nullopt;
    return clock != TIME_ERROR && (state.status & STA_UNSYNC) == 0;
}

}  // namespace

MachineFacts look_at_machine(const std::optional<Json>& daemon) {
    MachineFacts facts;
    look_at_limits(facts, daemon);
    if (daemon && count(*daemon, "pid") > 0)
        facts.daemon_memory_max_bytes = memory_limit_of(count(*daemon, "pid"));
    facts.clock_is_synchronized = is_clock_synchronized();
    facts.unix_ms = unix_ms_now();
    struct statvfs shared {};
    if (statvfs("/dev/shm", &shared) == 0)
        facts.shared_memory_bytes = uint64_t{shared.f_bavail} * shared.f_frsize;
    const std::string memory = read_file("/proc/meminfo");
    constexpr std::string_view kAvailable = "MemAvailable:";
    if (const size_t at = memory.find(kAvailable); at != std::string::npos) {
        if (const auto kib = number_in(std::string_view(memory).substr(at + kAvailable.size())))
            facts.memory_available_bytes = *kib * 1024;
    }
    facts.daemons = processes_named("paced");
    facts.ucx_version = ucx_version();
    facts.zmq_version = zmq_version();
    facts.ucx_moves_gpu_memory = ucx_moves_gpu_memory();
    return facts;
}

std::optional<uint64_t> limit_in(std::string_view limits, std::string_view name) {
    const size_t at = limits.find(name);
    if (at == std::string_view::npos) return std::nullopt;
    std::string_view rest = limits.substr(at + name.size());
    rest = rest.substr(0, rest.find('\n'));
    const size_t first = rest.find_first_not_of(' ');
    if (first == std::string_view::npos) return std::nullopt;
    if (rest.substr(first).starts_with("unlimited")) return std::numeric_limits<uint64_t>::max();
    return number_in(rest);
}

}  // namespace pace::pacectl
