#include "transports/ucx/ucx_sockets.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <fstream>
#include <string>

namespace pace::transports {

using base::ErrorKind;

namespace {

// Returns -1 if the descriptor is not a socket.
int protocol_of(int fd) {
    int protocol = -1;
    socklen_t size = sizeof(protocol);
    return getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &size) == 0 ? protocol : -1;
}

base::Result<> bound_one(int fd, unsigned unmoved_max_ms) {
    unsigned bound_ms = 0;
    socklen_t size = sizeof(bound_ms);
    if (getsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &bound_ms, &size) == 0 &&
        bound_ms == unmoved_max_ms)
        return {};
    if (setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &unmoved_max_ms, sizeof(unmoved_max_ms)) != 0)
        return base::make_errno_error(errno, "bound how long a connection's bytes may wait");
    return {};
}

}  // namespace

// The kernel lists the watched descriptors as "tfd:       17 events: ...", one on each line.
base::Result<std::vector<int>> UcxSockets::watched_by(int epoll_fd) {
    std::ifstream info("/proc/self/fdinfo/" + std::to_string(epoll_fd));
    if (!info)
        return base::make_error(ErrorKind::unavailable,
                                "/proc/self/fdinfo/{} cannot be read, which names the connections "
                                "among nodes; mount /proc",
                                epoll_fd);
    std::vector<int> watched;
    std::string word;
    while (info >> word) {
        int fd = -1;
        if (word == "tfd:" && info >> fd) watched.push_back(fd);
    }
    return watched;
}

base::Result<> UcxSockets::bound() {
    const auto unmoved_max_ms = static_cast<unsigned>(unmoved_max_ / std::chrono::milliseconds(1));
    PACE_TRY_ASSIGN(sets, watched_by(worker_fd_));
    for (const int set : sets) {
        // The worker also watches a timer and an event. These two watch nothing.
        PACE_TRY_ASSIGN(connections, watched_by(set));
        for (const int connection : connections)
            if (protocol_of(connection) == IPPROTO_TCP)
                PACE_TRY(bound_one(connection, unmoved_max_ms));
    }
    return {};
}

}  // namespace pace::transports
