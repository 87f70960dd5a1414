#include "tests/simulated_gpu/tests/apart.h"

#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include <gtest/gtest.h>

#include "tests/simulated_gpu/simulated_gpu.h"

namespace pace::simulated_gpu {

namespace {

union Control {
    cmsghdr header;
    std::array<char, CMSG_SPACE(sizeof(int))> room;
};

}  // namespace

void Line::send_bytes(const void* message, size_t bytes, int descriptor) {
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
    EXPECT_EQ(sendmsg(socket_.get(), &packet, MSG_NOSIGNAL), static_cast<ssize_t>(bytes));
}

void Line::receive_bytes(void* ret_message, size_t bytes, base::UniqueFd* ret_descriptor) {
    iovec part{ret_message, bytes};
    Control control{};
    msghdr packet{};
    packet.msg_iov = &part;
    packet.msg_iovlen = 1;
    packet.msg_control = &control;
    packet.msg_controllen = sizeof(control.room);
    EXPECT_EQ(recvmsg(socket_.get(), &packet, MSG_CMSG_CLOEXEC), static_cast<ssize_t>(bytes))
        << "the other process has ended";
    if (ret_descriptor == nullptr || CMSG_FIRSTHDR(&packet) == nullptr) return;
    int descriptor = -1;
    std::memcpy(&descriptor, CMSG_DATA(&control.header), sizeof(descriptor));
    ret_descriptor->reset(descriptor);
}

Apart::Apart(const Environment& environment, const std::function<void(Line&)>& code) {
    std::array<int, 2> ends{-1, -1};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()), 0);
    base::UniqueFd ours(ends[0]);
    base::UniqueFd theirs(ends[1]);
    std::fflush(nullptr);  // buffered output must not be written twice
    pid_ = fork();
    EXPECT_GE(pid_, 0);
    if (pid_ != 0) {
        line_ = Line(std::move(ours));
        return;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    ours.reset();
    for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
    use_simulated_gpu();
    {
        Line line(std::move(theirs));
        code(line);
    }
    std::exit(testing::Test::HasFailure() ? 1 : 0);
}

Apart::~Apart() {
    if (pid_ < 0) return;
    kill();
    (void)end();
}

void Apart::kill() const {
    ::kill(pid_, SIGKILL);
}

int Apart::end() {
    int status = 0;
    const pid_t ended = waitpid(std::exchange(pid_, -1), &status, 0);
    if (ended < 0) return -1;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

void apart(const Environment& environment, const std::function<void()>& test) {
    Apart process(environment, [&](Line&) { test(); });
    EXPECT_EQ(process.end(), 0) << "the test's process says why";
}

}  // namespace pace::simulated_gpu
