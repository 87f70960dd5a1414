#include "daemon/clients/packet.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/simulation/simulated_process.h"

namespace pace::daemon {

using base::ErrorKind;
using base::Result;

const protocol::client::Packet* verify_packet(std::span<const std::byte> bytes) {
    const auto* data = reinterpret_cast<const uint8_t*>(bytes.data());
    flatbuffers::Verifier verifier(data, bytes.size());
    if (!protocol::client::VerifyPacketBuffer(verifier)) return nullptr;
    const auto* packet = protocol::client::GetPacket(data);
    return packet->body() == nullptr ? nullptr : packet;
}

namespace {

std::vector<base::UniqueFd> take_fds(msghdr& message) {
    std::vector<base::UniqueFd> fds;
    for (cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
        const size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        std::array<int, kPacketFdsMax> raw{};
        std::memcpy(raw.data(), CMSG_DATA(c), std::min(count, raw.size()) * sizeof(int));
        for (size_t i = 0; i < std::min(count, raw.size()); ++i) fds.emplace_back(raw[i]);
    }
    return fds;
}

}  // namespace

Result<ReceivedPacket> receive_packet(int socket) {
    ReceivedPacket packet;
    packet.bytes.resize(kPacketBytesMax);
    iovec part{packet.bytes.data(), packet.bytes.size()};
    alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(kPacketFdsMax * sizeof(int))> control{};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const ssize_t size = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (size < 0) {
        packet.would_block = errno == EAGAIN || errno == EINTR;
        packet.closed = errno == ECONNRESET;
        if (packet.would_block || packet.closed) return packet;
        return base::make_errno_error(errno, "receive from client");
    }
    packet.fds = take_fds(message);
    packet.closed = size == 0;
    if ((message.msg_flags & MSG_TRUNC) != 0)
        return base::make_error(ErrorKind::corrupt, "a packet is longer than {} bytes",
                                kPacketBytesMax);
    if ((message.msg_flags & MSG_CTRUNC) != 0)
        return base::make_error(ErrorKind::corrupt, "a packet carries more than {} descriptors",
                                kPacketFdsMax);
    packet.bytes.resize(static_cast<size_t>(size));
    if (!packet.closed) base::pass("at", packet.bytes);
    return packet;
}

Result<> send_packet(int socket, std::span<const std::byte> bytes, std::span<const int> fds) {
    iovec part{const_cast<std::byte*>(bytes.data()), bytes.size()};
    alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(kPacketFdsMax * sizeof(int))> control{};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    if (!fds.empty()) {
        message.msg_control = control.data();
        message.msg_controllen = CMSG_SPACE(fds.size_bytes());
        cmsghdr* c = CMSG_FIRSTHDR(&message);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(fds.size_bytes());
        std::memcpy(CMSG_DATA(c), fds.data(), fds.size_bytes());
    }
    base::pass("before", bytes);
    if (sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0) {
        base::pass("after", bytes);
        return {};
    }
    if (errno == EAGAIN)
        return base::make_error(ErrorKind::limit, "the client does not read its socket");
    if (errno == EPIPE || errno == ECONNRESET)
        return base::make_error(ErrorKind::closed, "the client has closed its connection");
    return base::make_errno_error(errno, "send to client");
}

}  // namespace pace::daemon
