#include "service/pacectl/facts.h"

#include <dlfcn.h>
#include <grp.h>
#include <pwd.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>

#include "libclient/tool_link.h"

namespace pace::pacectl {

namespace {

constexpr auto kDoctorPatience = std::chrono::seconds(3);

// Files of /proc have no size: read until their end.
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

std::string user_name(uid_t uid) {
    const passwd* entry = getpwuid(uid);
    return entry == nullptr ? fmt::format("{}", uid) : entry->pw_name;
}

std::string group_name(gid_t gid) {
    const group* entry = getgrgid(gid);
    return entry == nullptr ? fmt::format("{}", gid) : entry->gr_name;
}

SocketFacts look_at_socket(const std::string& path) {
    SocketFacts facts;
    facts.path = path;
    struct stat status {};
    if (stat(path.c_str(), &status) != 0) {
        facts.looked_at = base::make_errno_error(errno, path).message;
        facts.exists = errno == EACCES;
        return facts;
    }
    facts.exists = true;
    facts.is_socket = S_ISSOCK(status.st_mode);
    facts.may_connect = access(path.c_str(), R_OK | W_OK) == 0;
    facts.mode = status.st_mode & 07777U;
    facts.owner = user_name(status.st_uid);
    facts.group = group_name(status.st_gid);
    return facts;
}

DaemonFacts ask_daemon(const client::Endpoint& endpoint) {
    DaemonFacts facts;
    auto link = client::ToolLink::open(endpoint, kDoctorPatience);
    if (!link) {
        facts.refused = link.error();
        return facts;
    }
    facts.version = link->daemon_version();
    auto answer = link->query("daemon");
    auto document = answer ? parse_document(*answer) : base::Result<Json>(answer.error());
    if (document)
        facts.document = std::move(document).value();
    else
        facts.document_error = document.error();
    if (auto status = link->query("status"); !status) facts.status_error = status.error();
    return facts;
}

// Kernel names of processes are cut to 15 characters, which "paced" is not.
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

// Loaded only to be asked its version: pacectl itself needs neither library's help. It stays loaded: UCX
// writes its hooks into the process and is not made to be taken out again.
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

// UCX finds its parts in a folder beside itself.
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

MachineFacts look_at_machine(const std::optional<Json>& daemon) {
    MachineFacts facts;
    look_at_limits(facts, daemon);
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

}  // namespace

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

Facts gather_facts(const client::Endpoint& endpoint) {
    Facts facts;
    facts.endpoint = endpoint;
    if (endpoint.kind == client::EndpointKind::unix_socket)
        facts.socket = look_at_socket(endpoint.path);
    facts.daemon = ask_daemon(endpoint);
    facts.machine = look_at_machine(facts.daemon.document);
    return facts;
}

}  // namespace pace::pacectl
