#include "daemon/device/device_claim.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

namespace pace::device {

using base::ErrorKind;
using base::Result;
using base::UniqueFd;

namespace {

// Names in the abstract namespace begin with a zero byte; the length marks their end.
socklen_t name_of(const std::string& id, sockaddr_un& ret_name) {
    const std::string text = "pace-device-" + id;
    ret_name = {};
    ret_name.sun_family = AF_UNIX;
    std::memcpy(ret_name.sun_path + 1, text.data(), text.size());
    return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
}

Result<UniqueFd> open_socket() {
    UniqueFd made(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!made.valid()) return base::make_errno_error(errno, "claim a GPU");
    return made;
}

// Returns 0 if the owner is unknown.
pid_t owner_of(const sockaddr_un& name, socklen_t length) {
    const auto socket = open_socket();
    if (!socket) return 0;
    if (connect(socket->get(), reinterpret_cast<const sockaddr*>(&name), length) != 0) return 0;
    ucred owner{};
    socklen_t size = sizeof(owner);
    if (getsockopt(socket->get(), SOL_SOCKET, SO_PEERCRED, &owner, &size) != 0) return 0;
    return owner.pid;
}

}  // namespace

Result<UniqueFd> claim_device(const std::string& id) {
    sockaddr_un name{};
    const socklen_t length = name_of(id, name);
    PACE_TRY_ASSIGN(claim, open_socket());
    if (bind(claim.get(), reinterpret_cast<const sockaddr*>(&name), length) == 0) {
        // Connections stay in the queue, since nobody accepts them. A full queue hides the owner.
        if (listen(claim.get(), SOMAXCONN) != 0)
            return base::make_errno_error(errno, "claim a GPU");
        return std::move(claim);
    }
    if (errno != EADDRINUSE) return base::make_errno_error(errno, "claim a GPU");
    const pid_t owner = owner_of(name, length);
    const std::string who = owner == 0 ? "another process" : fmt::format("process {}", owner);
    return base::make_error(ErrorKind::taken,
                            "{} serves {} already: two daemons on one GPU share "
                            "its memory and its time, and their trainers meet only across nodes",
                            who, id);
}

}  // namespace pace::device
