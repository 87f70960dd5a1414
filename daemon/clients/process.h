// PeerProcess: the process at the other end of a client's socket: its ids, and whether it is
// stopped.
#pragma once

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/result.h"
#include "base/unique_fd.h"

namespace pace::daemon {

struct PeerProcess {
    pid_t pid = 0;
    uid_t uid = 0;
};

inline base::Result<PeerProcess> peer_process(int socket) {
    ucred credentials{};
    socklen_t size = sizeof(credentials);
    if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0)
        return base::make_errno_error(errno, "read the client's credentials");
    return PeerProcess{credentials.pid, credentials.uid};
}

// Whether a signal (SIGSTOP, a debugger) has stopped the process. An unreadable process counts as
// running.
inline bool is_stopped(pid_t pid) {
    const base::UniqueFd file(
        open(fmt::format("/proc/{}/stat", pid).c_str(), O_RDONLY | O_CLOEXEC));
    std::array<char, 512> text{};
    const ssize_t size = file.valid() ? read(file.get(), text.data(), text.size() - 1) : -1;
    if (size <= 0) return false;
    // "pid (command) state …": the command may contain parentheses, so look for the last one.
    const char* end = std::strrchr(text.data(), ')');
    return end != nullptr && (end[2] == 'T' || end[2] == 't');
}

}  // namespace pace::daemon
