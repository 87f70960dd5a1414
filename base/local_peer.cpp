#include "base/local_peer.h"

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <optional>

#include "base/unique_fd.h"

namespace pace::base {

namespace {

struct End {
    uint8_t family = AF_UNSPEC;
    uint16_t port = 0;             // network byte order
    std::array<uint32_t, 4> ip{};  // network byte order; IPv4: the first
    bool is_loopback = false;
};

using NameOf = int (*)(int, sockaddr*, socklen_t*);

std::optional<End> end_of(int socket, NameOf name_of) {
    sockaddr_storage address{};
    socklen_t size = sizeof(address);
    if (name_of(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) return std::nullopt;
    End end;
    end.family = static_cast<uint8_t>(address.ss_family);
    if (address.ss_family == AF_INET) {
        const auto& ipv4 = reinterpret_cast<const sockaddr_in&>(address);
        end.port = ipv4.sin_port;
        end.ip[0] = ipv4.sin_addr.s_addr;
        end.is_loopback = (ntohl(ipv4.sin_addr.s_addr) >> 24U) == IN_LOOPBACKNET;
        return end;
    }
    if (address.ss_family != AF_INET6) return std::nullopt;
    const auto& ipv6 = reinterpret_cast<const sockaddr_in6&>(address);
    end.port = ipv6.sin6_port;
    std::memcpy(end.ip.data(), &ipv6.sin6_addr, sizeof(ipv6.sin6_addr));
    end.is_loopback = IN6_IS_ADDR_LOOPBACK(&ipv6.sin6_addr) ||
                      (IN6_IS_ADDR_V4MAPPED(&ipv6.sin6_addr) && ipv6.sin6_addr.s6_addr[12] == 127);
    return end;
}

struct Request {
    nlmsghdr header;
    inet_diag_req_v2 body;
};

// Asks for the one socket whose own end is `own`, and whose peer is `peer`.
Request request_for(const End& own, const End& peer) {
    Request request{};
    request.header.nlmsg_len = sizeof(request);
    request.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
    request.header.nlmsg_flags = NLM_F_REQUEST;
    request.body.sdiag_family = own.family;
    request.body.sdiag_protocol = IPPROTO_TCP;
    request.body.idiag_states = ~0U;
    request.body.id.idiag_sport = own.port;
    request.body.id.idiag_dport = peer.port;
    std::memcpy(request.body.id.idiag_src, own.ip.data(), sizeof(own.ip));
    std::memcpy(request.body.id.idiag_dst, peer.ip.data(), sizeof(peer.ip));
    request.body.id.idiag_cookie[0] = INET_DIAG_NOCOOKIE;
    request.body.id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
    return request;
}

}  // namespace

bool is_from_loopback(int socket) {
    const auto peer = end_of(socket, getpeername);
    return peer && peer->is_loopback;
}

Result<uid_t> user_of_peer(int socket) {
    const auto here = end_of(socket, getsockname);
    const auto there = end_of(socket, getpeername);
    if (!here || !there) return make_error(ErrorKind::not_found, "the connection is gone");
    const UniqueFd kernel(
        ::socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_SOCK_DIAG));
    if (!kernel.valid()) return make_errno_error(errno, "ask the kernel about sockets");
    const Request request = request_for(*there, *here);
    if (send(kernel.get(), &request, sizeof(request), 0) < 0)
        return make_errno_error(errno, "ask the kernel about a socket");
    // The kernel has answered when send() returns.
    alignas(nlmsghdr) std::array<std::byte, 4096> answer{};
    const ssize_t got = recv(kernel.get(), answer.data(), answer.size(), 0);
    if (got < static_cast<ssize_t>(sizeof(nlmsghdr)))
        return make_errno_error(errno, "ask the kernel about a socket");
    nlmsghdr header{};
    std::memcpy(&header, answer.data(), sizeof(header));
    if (header.nlmsg_type == NLMSG_ERROR) {
        nlmsgerr error{};
        std::memcpy(&error, answer.data() + NLMSG_HDRLEN, sizeof(error));
        if (error.error == -ENOENT)
            return make_error(ErrorKind::not_found, "the connection is gone");
        return make_errno_error(-error.error, "ask the kernel about a socket");
    }
    inet_diag_msg found{};
    if (got < static_cast<ssize_t>(NLMSG_HDRLEN + sizeof(found)))
        return make_error(ErrorKind::corrupt, "the kernel's answer is too short");
    std::memcpy(&found, answer.data() + NLMSG_HDRLEN, sizeof(found));
    return found.idiag_uid;
}

}  // namespace pace::base
