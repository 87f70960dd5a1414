#include "service/pacectl/facts/tcp_paths.h"

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <set>
#include <string_view>
#include <system_error>

#include "base/unique_fd.h"

namespace pace::pacectl {

using base::make_errno_error;
using base::Result;

namespace {

constexpr size_t kPathsMax = 4096;

// The inode numbers of the process's sockets, from links as "socket:[4711]". The kernel's list uses
// the same numbers.
Result<std::set<uint32_t>> sockets_of(pid_t pid) {
    const std::string folder = fmt::format("/proc/{}/fd", pid);
    std::set<uint32_t> inodes;
    std::error_code error;
    std::filesystem::directory_iterator entries(folder, error);
    if (error) return make_errno_error(error.value(), folder);
    for (; !error && entries != std::filesystem::directory_iterator(); entries.increment(error)) {
        std::error_code gone;
        const std::string target = std::filesystem::read_symlink(entries->path(), gone);
        constexpr std::string_view kPrefix = "socket:[";
        uint32_t inode = 0;
        if (gone || !target.starts_with(kPrefix)) continue;
        std::from_chars(target.data() + kPrefix.size(), target.data() + target.size(), inode);
        inodes.insert(inode);
    }
    return inodes;
}

Result<> ask_for_connections(int fd, uint8_t family) {
    struct {
        nlmsghdr header;
        inet_diag_req_v2 request;
    } message{};
    message.header.nlmsg_len = sizeof(message);
    message.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
    message.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
    message.request.sdiag_family = family;
    message.request.sdiag_protocol = IPPROTO_TCP;
    message.request.idiag_ext = 1U << (INET_DIAG_INFO - 1);
    message.request.idiag_states = 1U << TCP_ESTABLISHED;
    if (send(fd, &message, sizeof(message), 0) < 0)
        return make_errno_error(errno, "ask the kernel for connections");
    return {};
}

std::string address_of(const inet_diag_msg& found) {
    std::array<char, INET6_ADDRSTRLEN> text{};
    inet_ntop(found.idiag_family, static_cast<const void*>(found.id.idiag_dst), text.data(),
              text.size());
    return text.data();
}

bool is_loopback_address(std::string_view address) {
    return address.starts_with("127.") || address == "::1" || address.starts_with("::ffff:127.");
}

// Adds one connection from the kernel's list, unless its TCP_INFO is missing.
void add_path(nlmsghdr* header, const std::set<uint32_t>& sockets,
              std::vector<TcpPath>& ret_paths) {
    auto* found = static_cast<inet_diag_msg*>(NLMSG_DATA(header));
    if (!sockets.contains(found->idiag_inode) || ret_paths.size() == kPathsMax) return;
    size_t left = header->nlmsg_len - NLMSG_LENGTH(sizeof(*found));
    auto* attribute = reinterpret_cast<rtattr*>(found + 1);
    for (; RTA_OK(attribute, left); attribute = RTA_NEXT(attribute, left)) {
        if (attribute->rta_type != INET_DIAG_INFO) continue;
        tcp_info info{};
        std::memcpy(&info, RTA_DATA(attribute),
                    std::min<size_t>(RTA_PAYLOAD(attribute), sizeof(info)));
        const std::string peer = address_of(*found);
        ret_paths.push_back({peer, is_loopback_address(peer), info.tcpi_advmss, info.tcpi_snd_mss});
    }
}

// Reads until the kernel reports the end of the list.
Result<> read_connections(int fd, const std::set<uint32_t>& sockets,
                          std::vector<TcpPath>& ret_paths) {
    alignas(nlmsghdr) std::array<char, 32768> bytes{};
    for (;;) {
        const ssize_t got = recv(fd, bytes.data(), bytes.size(), 0);
        if (got <= 0) return make_errno_error(errno, "read the kernel's connections");
        auto left = static_cast<size_t>(got);
        auto* header = reinterpret_cast<nlmsghdr*>(bytes.data());
        for (; NLMSG_OK(header, left); header = NLMSG_NEXT(header, left)) {
            if (header->nlmsg_type == NLMSG_DONE || header->nlmsg_type == NLMSG_ERROR) return {};
            if (header->nlmsg_len >= NLMSG_LENGTH(sizeof(inet_diag_msg)))
                add_path(header, sockets, ret_paths);
        }
    }
}

}  // namespace

Result<std::vector<TcpPath>> tcp_paths_of(pid_t pid) {
    PACE_TRY_ASSIGN(sockets, sockets_of(pid));
    const base::UniqueFd fd(socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
    if (!fd.valid()) return make_errno_error(errno, "open the kernel's list of connections");
    std::vector<TcpPath> paths;
    for (const uint8_t family : {AF_INET, AF_INET6}) {
        PACE_TRY(ask_for_connections(fd.get(), family));
        PACE_TRY(read_connections(fd.get(), sockets, paths));
    }
    return paths;
}

}  // namespace pace::pacectl
