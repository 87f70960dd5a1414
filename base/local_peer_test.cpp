#include "base/local_peer.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "base/unique_fd.h"

namespace pace::base {
namespace {

constexpr uid_t kNobody = 65534;

// A listening socket on loopback.
class LocalPeerTest : public testing::TestWithParam<int> {
  protected:
    void SetUp() override {
        listening_ = UniqueFd(socket(GetParam(), SOCK_STREAM | SOCK_CLOEXEC, 0));
        address_.ss_family = static_cast<sa_family_t>(GetParam());
        if (GetParam() == AF_INET)
            reinterpret_cast<sockaddr_in&>(address_).sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        else
            reinterpret_cast<sockaddr_in6&>(address_).sin6_addr = in6addr_loopback;
        if (bind(listening_.get(), as_socket_address(), size_) != 0)
            GTEST_SKIP() << "this machine has no such loopback address";
        ASSERT_EQ(listen(listening_.get(), 4), 0);
        getsockname(listening_.get(), as_socket_address(), &size_);
    }

    sockaddr* as_socket_address() { return reinterpret_cast<sockaddr*>(&address_); }
    UniqueFd connected() {
        UniqueFd fd(socket(GetParam(), SOCK_STREAM | SOCK_CLOEXEC, 0));
        EXPECT_EQ(connect(fd.get(), as_socket_address(), size_), 0);
        return fd;
    }
    UniqueFd accepted() { return UniqueFd(accept(listening_.get(), nullptr, nullptr)); }

    UniqueFd listening_;
    sockaddr_storage address_{};
    socklen_t size_ = sizeof(address_);
};

INSTANTIATE_TEST_SUITE_P(Families, LocalPeerTest, testing::Values(AF_INET, AF_INET6));

TEST_P(LocalPeerTest, TheUserIsThatOfTheProcessThatConnected) {
    const UniqueFd there = connected();
    const UniqueFd here = accepted();
    EXPECT_TRUE(is_from_loopback(here.get()));
    const auto user = user_of_peer(here.get());
    ASSERT_TRUE(user) << user.error().message;
    EXPECT_EQ(*user, geteuid());
}

TEST_P(LocalPeerTest, AnotherUsersConnectionIsThatUsers) {
    if (geteuid() != 0) GTEST_SKIP() << "only root becomes another user";
    int end[2];
    ASSERT_EQ(pipe(end), 0);
    const pid_t child = fork();
    if (child == 0) {
        if (setuid(kNobody) != 0) _exit(1);
        const UniqueFd there = connected();
        char byte = 0;
        close(end[1]);
        _exit(read(end[0], &byte, 1) == 0 ? 0 : 1);  // until the test is done
    }
    const UniqueFd here = accepted();
    const auto user = user_of_peer(here.get());
    close(end[1]);
    close(end[0]);
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_TRUE(user) << user.error().message;
    EXPECT_EQ(*user, kNobody);
    EXPECT_EQ(status, 0);
}

TEST_P(LocalPeerTest, AConnectionThatIsGoneIsNotFound) {
    UniqueFd there = connected();
    const UniqueFd here = accepted();
    linger now{.l_onoff = 1, .l_linger = 0};
    setsockopt(there.get(), SOL_SOCKET, SO_LINGER, &now, sizeof(now));  // the end is a reset
    there = {};
    EXPECT_FALSE(user_of_peer(here.get()));
    EXPECT_FALSE(user_of_peer(-1));
    EXPECT_FALSE(is_from_loopback(-1));
    EXPECT_FALSE(user_of_peer(listening_.get()));
}

}  // namespace
}  // namespace pace::base
