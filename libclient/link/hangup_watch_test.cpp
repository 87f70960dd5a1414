#include "libclient/link/hangup_watch.h"

#include <sys/socket.h>

#include <array>
#include <future>

#include <gtest/gtest.h>

namespace pace::client {
namespace {

using base::UniqueFd;

struct Pair {
    UniqueFd ours;
    UniqueFd theirs;

    Pair() {
        std::array<int, 2> ends{-1, -1};
        EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()), 0);
        ours.reset(ends[0]);
        theirs.reset(ends[1]);
    }
};

// Messages are no hang-up, and stay for who reads the socket.
TEST(HangupWatch, TellsOfTheOtherEndsEndAlone) {
    Pair pair;
    std::promise<void> told;
    auto watch = HangupWatch::start(pair.ours.get(), [&] { told.set_value(); });
    ASSERT_TRUE(watch) << watch.error().message;
    char byte = 'x';
    ASSERT_EQ(send(pair.theirs.get(), &byte, 1, 0), 1);
    auto future = told.get_future();
    EXPECT_EQ(future.wait_for(std::chrono::milliseconds(0)), std::future_status::timeout);
    ASSERT_EQ(recv(pair.ours.get(), &byte, 1, 0), 1);
    pair.theirs.reset();
    future.wait();
}

TEST(HangupWatch, EndsWithoutAHangupAndClosesItsDescriptor) {
    Pair pair;
    bool is_told = false;
    {
        auto watch = HangupWatch::start(pair.ours.get(), [&] { is_told = true; });
        ASSERT_TRUE(watch) << watch.error().message;
    }
    EXPECT_FALSE(is_told);
    pair.ours.reset();
    char byte = 0;
    EXPECT_EQ(recv(pair.theirs.get(), &byte, 1, 0), 0) << "the other end sees the end";
}

TEST(HangupWatch, NoDescriptorIsAnError) {
    EXPECT_FALSE(HangupWatch::start(-1, [] {}));
}

}  // namespace
}  // namespace pace::client
