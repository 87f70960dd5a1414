#include "service/pacectl/facts/network_facts.h"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "base/unique_fd.h"
#include "service/controller/zmq/endpoint.h"

namespace pace::pacectl {

namespace {

constexpr int kConnectMs = 2000;

// "" if the connection succeeded, otherwise the reason.
std::string try_address(const addrinfo& address) {
    const base::UniqueFd fd(
        socket(address.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!fd.valid()) return std::strerror(errno);
    if (connect(fd.get(), address.ai_addr, address.ai_addrlen) == 0) return {};
    if (errno != EINPROGRESS) return std::strerror(errno);
    pollfd writable{fd.get(), POLLOUT, 0};
    if (poll(&writable, 1, kConnectMs) == 0)
        return "no answer to a connection within 2 s; a firewall drops it, or nobody is there";
    int error = 0;
    socklen_t size = sizeof(error);
    if (getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
    return error == 0 ? std::string() : std::strerror(error);
}

}  // namespace

std::string why_no_connection(const std::string& endpoint) {
    const auto where = control_zmq::parse_tcp(endpoint);
    if (!where) return where.error().message;
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    const int failed = getaddrinfo(where->host.c_str(), where->port.c_str(), &hints, &found);
    if (failed != 0) return fmt::format("'{}': {}", where->host, gai_strerror(failed));
    const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owned(found, freeaddrinfo);
    std::string failure = "the name has no address";
    for (const addrinfo* address = found; address != nullptr; address = address->ai_next) {
        failure = try_address(*address);
        if (failure.empty()) break;
    }
    return failure;
}

NetworkFacts look_at_network(const Json& daemon) {
    NetworkFacts facts;
    const Json& controller = member(daemon, "controller");
    facts.controller = text(controller, "endpoint", "");
    if (!truth(controller, "embedded") && !truth(controller, "reachable"))
        facts.controller_port_failure = why_no_connection(facts.controller);
    auto paths = tcp_paths_of(static_cast<pid_t>(count(daemon, "pid")));
    if (paths)
        facts.paths = std::move(*paths);
    else
        facts.paths_failure = printable(paths.error().message);
    return facts;
}

}  // namespace pace::pacectl
