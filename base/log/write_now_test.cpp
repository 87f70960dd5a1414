#include "base/log/write_now.h"

#include <fcntl.h>
#include <pty.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <string>

#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/unique_fd.h"

namespace pace::base {
namespace {

// The two ends of a channel. The writing end blocks, as standard error does.
struct Ends {
    UniqueFd read;
    UniqueFd write;
};

Ends pipe_ends() {
    std::array<int, 2> ends{};
    EXPECT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
    return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

Ends socket_ends() {
    std::array<int, 2> ends{};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
    return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

Ends terminal_ends() {
    int master = -1;
    int terminal = -1;
    EXPECT_EQ(openpty(&master, &terminal, nullptr, nullptr, nullptr), 0);
    return {UniqueFd(master), UniqueFd(terminal)};
}

// Writes lines until one is refused. If a write blocks, the test's deadline reports it.
int lines_until_full(int fd) {
    const std::string line(200, 'x');
    int lines = 0;
    while (lines < 1'000'000 && write_now(fd, line)) ++lines;
    return lines;
}

void drain(int fd) {
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    std::array<char, 4096> bytes{};
    while (read(fd, bytes.data(), bytes.size()) > 0) {
    }
}

TEST(WriteNow, DoesNotWaitForWhoDoesNotRead) {
    for (const auto& make : {pipe_ends, socket_ends, terminal_ends}) {
        const Ends ends = make();
        const TimePoint began = now();
        const int lines = lines_until_full(ends.write.get());
        EXPECT_GT(lines, 0);
        EXPECT_LT(lines, 1'000'000);
        EXPECT_LT(now() - began, std::chrono::seconds(5));
        drain(ends.read.get());
        EXPECT_TRUE(write_now(ends.write.get(), "again\n"));
        EXPECT_EQ(fcntl(ends.write.get(), F_GETFL) & O_NONBLOCK, 0) << "others share it";
    }
}

TEST(WriteNow, ALineThatIsLongerThanAPipeEndsInTheMidst) {
    const Ends ends = pipe_ends();
    EXPECT_FALSE(write_now(ends.write.get(), std::string(size_t{1} << 20U, 'x')));
}

TEST(WriteNow, WhatIsClosedTakesNothing) {
    Ends ends = socket_ends();
    ends.read.reset();
    EXPECT_FALSE(write_now(ends.write.get(), "hello\n"));
    EXPECT_FALSE(write_now(-1, "hello\n"));
}

}  // namespace
}  // namespace pace::base
