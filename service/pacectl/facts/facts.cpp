#include "service/pacectl/facts/facts.h"

#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <utility>

#include "libclient/link/tool_link.h"

namespace pace::pacectl {

namespace {

// The daemon waits five seconds for its controller, and then reports why there is none.
constexpr auto kDoctorPatience = std::chrono::seconds(6);

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
    facts.gid = status.st_gid;
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
    auto status_text = link->query("status");
    auto status =
        status_text ? parse_document(*status_text) : base::Result<Json>(status_text.error());
    if (status)
        facts.status = std::move(status).value();
    else
        facts.status_error = status.error();
    return facts;
}

// The user of the daemon's process; if unknown, the services' user.
std::optional<KeyOwner> service_of(const std::optional<Json>& daemon) {
    struct stat status {};
    const uint64_t pid = daemon ? count(*daemon, "pid") : 0;
    if (pid == 0 || stat(fmt::format("/proc/{}", pid).c_str(), &status) != 0) return service_user();
    return KeyOwner{status.st_uid, status.st_gid, user_name(status.st_uid),
                    group_name(status.st_gid), false};
}

// None if the socket is for its owner alone.
std::optional<TrainersGroup> trainers_of(const SocketFacts& socket) {
    if (!socket.is_socket) return service_group();
    if ((socket.mode & S_IRWXG) == 0) return std::nullopt;
    return TrainersGroup{socket.gid, socket.group};
}

}  // namespace

Facts gather_facts(const client::Endpoint& endpoint, const std::string& keys) {
    Facts facts;
    facts.endpoint = endpoint;
    if (endpoint.kind == client::EndpointKind::unix_socket)
        facts.socket = look_at_socket(endpoint.path);
    facts.daemon = ask_daemon(endpoint);
    if (facts.daemon.document) facts.network = look_at_network(*facts.daemon.document);
    const auto trainers = trainers_of(facts.socket);
    facts.keys = {look_at_keys(keys, trainers), service_of(facts.daemon.document), trainers};
    facts.machine = look_at_machine(facts.daemon.document);
    return facts;
}

}  // namespace pace::pacectl
