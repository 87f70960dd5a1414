#include "tests/gpu/probe/line.h"

#include <poll.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

namespace pace::gpu_probe {

using base::ErrorKind;
using base::make_errno_error;
using base::make_error;
using base::Result;
using base::UniqueFd;

namespace {

constexpr int kPatienceMs = 10'000;
constexpr uid_t kNobody = 65534;
constexpr size_t kTextBytes = 400;

using Text = std::array<char, kTextBytes>;

union Control {
    cmsghdr header;
    std::array<char, CMSG_SPACE(sizeof(int))> room;
};

Result<> leave_users_behind() {
    if (setgid(kNobody) == 0 && setuid(kNobody) == 0) return {};
    return make_errno_error(errno, "become another user");
}

Result<> take_own_shm() {
    if (unshare(CLONE_NEWNS) == 0 &&
        mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
        mount("tmpfs", "/dev/shm", "tmpfs", 0, nullptr) == 0)
        return {};
    return make_errno_error(errno, "have another /dev/shm");
}

// The caller goes on in a child of its own, which has number 1 there.
Result<> take_own_processes() {
    if (unshare(CLONE_NEWPID) != 0) return make_errno_error(errno, "have other process numbers");
    const pid_t child = fork();
    if (child < 0) return make_errno_error(errno, "fork");
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        return {};
    }
    int status = 0;
    waitpid(child, &status, 0);
    _exit(0);
}

Result<> go(Where where) {
    switch (where) {
        case Where::here:
            return {};
        case Where::other_user:
            return leave_users_behind();
        case Where::other_shm:
            return take_own_shm();
        case Where::other_processes:
            return take_own_processes();
    }
    return {};
}

}  // namespace

Result<> Line::send_bytes(const void* message, size_t bytes, int descriptor) {
    iovec part{const_cast<void*>(message), bytes};
    Control control{};
    msghdr packet{};
    packet.msg_iov = &part;
    packet.msg_iovlen = 1;
    if (descriptor >= 0) {
        packet.msg_control = &control;
        packet.msg_controllen = sizeof(control.room);
        control.header = {CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
        std::memcpy(CMSG_DATA(&control.header), &descriptor, sizeof(descriptor));
    }
    if (sendmsg(socket_.get(), &packet, MSG_NOSIGNAL) == static_cast<ssize_t>(bytes)) return {};
    return make_error(ErrorKind::closed, "the other process has ended");
}

Result<> Line::receive_bytes(void* ret_message, size_t bytes, UniqueFd* ret_descriptor) {
    pollfd waiting{socket_.get(), POLLIN, 0};
    if (poll(&waiting, 1, kPatienceMs) != 1)
        return make_error(ErrorKind::timeout, "the other process does not go on");
    Text room{};
    iovec part{room.data(), room.size()};
    Control control{};
    msghdr packet{};
    packet.msg_iov = &part;
    packet.msg_iovlen = 1;
    packet.msg_control = &control;
    packet.msg_controllen = sizeof(control.room);
    const ssize_t got = recvmsg(socket_.get(), &packet, MSG_CMSG_CLOEXEC);
    // The other process says why it does not go on.
    if (got == static_cast<ssize_t>(room.size()) && bytes != room.size())
        return make_error(ErrorKind::unavailable, "{}", room.data());
    if (got != static_cast<ssize_t>(bytes))
        return make_error(ErrorKind::closed, "the other process has ended");
    std::memcpy(ret_message, room.data(), bytes);
    if (ret_descriptor == nullptr || CMSG_FIRSTHDR(&packet) == nullptr) return {};
    int descriptor = -1;
    std::memcpy(&descriptor, CMSG_DATA(&control.header), sizeof(descriptor));
    ret_descriptor->reset(descriptor);
    return {};
}

Result<> Line::send_text(const std::string& text) {
    Text message{};
    std::memcpy(message.data(), text.data(), std::min(text.size(), message.size() - 1));
    return send(message);
}

Result<std::string> Line::receive_text() {
    PACE_TRY_ASSIGN(message, receive<Text>());
    return std::string(message.data());
}

Partner::Partner(Where where, const std::function<Result<>(Line&)>& code) {
    std::array<int, 2> ends{-1, -1};
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) return;
    line_ = Line(UniqueFd(ends[0]));
    UniqueFd theirs(ends[1]);
    pid_ = fork();
    if (pid_ != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    line_ = Line(UniqueFd());
    Line line(std::move(theirs));
    Result<> done = go(where);
    if (done) done = code(line);
    // The other process reads why, whatever it sends before.
    if (!done && line.send_text(done.error().message))
        while (line.receive<char>()) {
        }
    _exit(0);
}

Partner::~Partner() {
    kill();
}

void Partner::kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    int status = 0;
    waitpid(std::exchange(pid_, -1), &status, 0);
}

}  // namespace pace::gpu_probe
