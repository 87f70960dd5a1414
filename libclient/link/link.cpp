#include "libclient/link/link.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/simulation/simulated_process.h"

namespace pace::client {

using base::Duration;
using base::ErrorKind;
using base::make_errno_error;
using base::make_error;
using base::Result;
using base::TimePoint;
using base::UniqueFd;

namespace {

template <size_t Count>
union ControlBuffer {
    std::array<char, CMSG_SPACE(Count * sizeof(int))> bytes;
    cmsghdr align;
};

base::Error closed_error() {
    return make_error(ErrorKind::unavailable, "the daemon has closed the connection");
}

// The send timeout also bounds connect(2) while the daemon's backlog is full.
Result<> set_send_timeout(int socket, Duration left) {
    const auto microseconds =
        std::max<int64_t>(1, std::chrono::duration_cast<std::chrono::microseconds>(left).count());
    const timeval value{microseconds / 1000000, microseconds % 1000000};
    if (setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &value, sizeof(value)) != 0)
        return make_errno_error(errno, "set the socket's timeout");
    return {};
}

Result<> set_nonblocking(int fd) {
    const int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0)
        return make_errno_error(errno, "make the socket non-blocking");
    return {};
}

// Takes ownership of every descriptor in the message, even of descriptors that were not expected.
std::vector<UniqueFd> take_descriptors(msghdr& message) {
    std::vector<UniqueFd> fds;
    fds.reserve(kPacketFdsMax);
    for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
         part = CMSG_NXTHDR(&message, part)) {
        if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
        const size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < count; ++i) {
            int fd = -1;
            std::memcpy(&fd, CMSG_DATA(part) + i * sizeof(int), sizeof(int));
            fds.emplace_back(fd);
        }
    }
    return fds;
}

}  // namespace

base::Error interrupted_error() {
    return make_error(ErrorKind::interrupted,
                      "a signal has come while the daemon was waited for; call again to go on");
}

Result<Link> Link::connect(const std::string& path, TimePoint deadline, bool interruptible) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof(address.sun_path))
        return make_error(ErrorKind::invalid, "the socket path is {} bytes long", path.size());
    std::memcpy(address.sun_path, path.data(), path.size());

    UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    if (!socket.valid()) return make_errno_error(errno, "make a socket");
    PACE_TRY(set_send_timeout(socket.get(), std::max(deadline - base::now(), Duration(1))));
    if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) !=
        0) {
        if (errno == EINTR && interruptible) return interrupted_error();
        if (errno == EAGAIN || errno == EINTR)
            return make_error(ErrorKind::unavailable, "connect to {}: the daemon accepts nobody",
                              path);
        return make_errno_error(errno, fmt::format("connect to {}", path));
    }
    return adopt(std::move(socket));
}

Result<Link> Link::adopt(UniqueFd socket) {
    int type = 0;
    socklen_t length = sizeof(type);
    if (getsockopt(socket.get(), SOL_SOCKET, SO_TYPE, &type, &length) != 0)
        return make_errno_error(errno, "look at the daemon's socket");
    if (type != SOCK_SEQPACKET)
        return make_error(ErrorKind::invalid, "the daemon's socket is not of type SOCK_SEQPACKET");
    PACE_TRY(set_nonblocking(socket.get()));
    return Link(std::move(socket));
}

Result<> Link::send(const flatbuffers::FlatBufferBuilder& packet, int fd, TimePoint deadline) {
    iovec bytes{packet.GetBufferPointer(), packet.GetSize()};
    msghdr message{};
    message.msg_iov = &bytes;
    message.msg_iovlen = 1;
    ControlBuffer<1> control{};
    if (fd >= 0) {
        message.msg_control = control.bytes.data();
        message.msg_controllen = control.bytes.size();
        cmsghdr* part = CMSG_FIRSTHDR(&message);
        part->cmsg_level = SOL_SOCKET;
        part->cmsg_type = SCM_RIGHTS;
        part->cmsg_len = CMSG_LEN(sizeof(int));
        std::memcpy(CMSG_DATA(part), &fd, sizeof(int));
    }
    const std::span content(static_cast<const std::byte*>(bytes.iov_base), bytes.iov_len);
    base::pass("before", content);
    for (;;) {
        if (sendmsg(socket_.get(), &message, MSG_NOSIGNAL) >= 0) break;
        if (errno == EINTR) continue;
        if (errno == EPIPE || errno == ECONNRESET) return closed_error();
        if (errno != EAGAIN) return make_errno_error(errno, "send to the daemon");
        PACE_TRY(wait_for(POLLOUT, deadline, false, "the daemon does not read its socket"));
    }
    base::pass("after", content);
    return {};
}

Result<Packet> Link::receive(TimePoint deadline, bool interruptible) {
    for (;;) {
        std::vector<std::byte> bytes(kPacketBytesMax);
        iovec part{bytes.data(), bytes.size()};
        ControlBuffer<kPacketFdsMax> control{};
        msghdr message{};
        message.msg_iov = &part;
        message.msg_iovlen = 1;
        message.msg_control = control.bytes.data();
        message.msg_controllen = control.bytes.size();
        const ssize_t got = recvmsg(socket_.get(), &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
        if (got < 0 && errno == EINTR) continue;
        // The daemon closed without reading everything. The kernel reports the error once. The next
        // receive returns what the daemon still said.
        if (got < 0 && errno == ECONNRESET) continue;
        if (got < 0 && errno == EAGAIN) {
            PACE_TRY(wait_for(POLLIN, deadline, interruptible, "the daemon does not answer"));
            continue;
        }
        if (got < 0) return make_errno_error(errno, "receive from the daemon");
        std::vector<UniqueFd> fds = take_descriptors(message);
        if (got == 0) return closed_error();
        if ((message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0)
            return make_error(ErrorKind::corrupt, "a packet from the daemon is too large");
        bytes.resize(static_cast<size_t>(got));
        base::pass("at", bytes);
        return Packet::verify(std::move(bytes), std::move(fds));
    }
}

Result<> Link::wait_for(short events, TimePoint deadline, bool interruptible,
                        std::string_view late) const {
    pollfd watched{socket_.get(), events, 0};
    for (;;) {
        const int ready = base::wait_on({&watched, 1}, deadline);
        if (ready > 0) return {};
        if (ready < 0 && errno == EINTR && interruptible) return interrupted_error();
        if (base::now() >= deadline || (ready < 0 && errno != EINTR))
            return make_error(ErrorKind::unavailable, "{}", late);
    }
}

bool Link::is_gone() const {
    pollfd watched{socket_.get(), POLLRDHUP, 0};
    return poll(&watched, 1, 0) > 0 && (watched.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

void Link::sever() {
    (void)shutdown(socket_.get(), SHUT_RDWR);
}

}  // namespace pace::client
