#include "daemon/control/reach_probe.h"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "base/unique_fd.h"

namespace pace::daemon::control {

namespace {

constexpr int kConnectMs = 1000;

// Returns 0 if the connection is accepted, else the error's number.
int connect_to(const addrinfo& address) {
    const base::UniqueFd fd(
        socket(address.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!fd.valid()) return errno;
    if (connect(fd.get(), address.ai_addr, address.ai_addrlen) == 0) return 0;
    if (errno != EINPROGRESS) return errno;
    pollfd entry{fd.get(), POLLOUT, 0};
    if (poll(&entry, 1, kConnectMs) <= 0) return ETIMEDOUT;
    int error = 0;
    socklen_t size = sizeof(error);
    if (getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) return errno;
    return error;
}

std::string words_for(int error, const control_zmq::TcpEndpoint& where) {
    if (error == ECONNREFUSED)
        return fmt::format("nothing listens on port {} of {}", where.port, where.host);
    if (error == ETIMEDOUT)
        return fmt::format("{} does not answer on port {}", where.host, where.port);
    return fmt::format("{} cannot be reached ({})", where.host, std::strerror(error));
}

// Passes the current findings to `told` at each step, since each step may take long.
template <typename Told>
void look(const control_zmq::TcpEndpoint& where, const Told& told) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_NUMERICSERV;
    addrinfo* list = nullptr;
    told(fmt::format("the host \"{}\" is being looked up, and no name server has answered so far",
                     where.host));
    const int resolved = getaddrinfo(where.host.c_str(), where.port.c_str(), &hints, &list);
    if (resolved != 0)
        return told(fmt::format("the host \"{}\" is not known here ({})", where.host,
                                gai_strerror(resolved)));
    const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(list, freeaddrinfo);
    told(fmt::format("{} does not answer on port {}", where.host, where.port));
    for (const addrinfo* address = list; address != nullptr; address = address->ai_next) {
        const int error = connect_to(*address);
        if (error == 0) return told({});
        told(words_for(error, where));
    }
}

}  // namespace

void ReachProbe::begin(const control_zmq::TcpEndpoint& where) {
    {
        const std::lock_guard lock(findings_->mutex);
        if (findings_->under_way) return;
        findings_->under_way = true;
    }
    thread_.run([findings = findings_, where] {
        look(where, [&findings](std::string found) {
            const std::lock_guard lock(findings->mutex);
            findings->found = std::move(found);
        });
        const std::lock_guard lock(findings->mutex);
        findings->under_way = false;
    });
}

std::optional<std::string> ReachProbe::found() const {
    const std::lock_guard lock(findings_->mutex);
    return findings_->found;
}

}  // namespace pace::daemon::control
