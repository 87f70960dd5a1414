#include "base/log/write_now.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <climits>

namespace pace::base {

namespace {

// Writes some bytes without waiting. Other processes may share the descriptor, so its flags stay as
// they are. For a pipe poll() says that there is room for PIPE_BUF bytes. For a terminal poll()
// says that the output was not stopped. Returns zero if a write would wait, or if the descriptor is
// broken.
size_t write_some(int fd, std::string_view bytes) {
    pollfd entry{fd, POLLOUT, 0};
    if (poll(&entry, 1, 0) != 1 || (entry.revents & POLLOUT) == 0) return 0;
    const ssize_t written = write(fd, bytes.data(), bytes.substr(0, PIPE_BUF).size());
    return written > 0 ? static_cast<size_t>(written) : 0;
}

}  // namespace

bool write_now(int fd, std::string_view line) {
    const ssize_t sent = send(fd, line.data(), line.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent >= 0) return static_cast<size_t>(sent) == line.size();
    if (errno != ENOTSOCK) return false;
    while (!line.empty()) {
        const size_t written = write_some(fd, line);
        if (written == 0) return false;
        line.remove_prefix(written);
    }
    return true;
}

}  // namespace pace::base
