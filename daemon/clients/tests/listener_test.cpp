#include "daemon/clients/listener.h"

#include <fcntl.h>
#include <grp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

namespace pace::daemon {
namespace {

// While this object lives, the process can open no more descriptors.
class NoMoreDescriptors {
  public:
    NoMoreDescriptors() {
        EXPECT_EQ(getrlimit(RLIMIT_NOFILE, &before_), 0);
        const base::UniqueFd first_free(open("/dev/null", O_RDONLY | O_CLOEXEC));
        EXPECT_TRUE(first_free.valid());
        const rlimit none_free{static_cast<rlim_t>(first_free.get()), before_.rlim_max};
        EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &none_free), 0);
    }
    ~NoMoreDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }
    NoMoreDescriptors(const NoMoreDescriptors&) = delete;
    NoMoreDescriptors& operator=(const NoMoreDescriptors&) = delete;

  private:
    rlimit before_{};
};

base::UniqueFd connect_to_listener(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof(address.sun_path) - 1);
    base::UniqueFd client(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    EXPECT_EQ(connect(client.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)),
              0);
    return client;
}

class ListenerTest : public ::testing::Test {
  protected:
    ListenerTest() : loop_(base::EventLoop::create().value()) {
        std::array<char, 32> name{"/tmp/pace-listener-XXXXXX"};
        folder_ = mkdtemp(name.data());
    }
    ~ListenerTest() override { std::filesystem::remove_all(folder_); }

    base::Result<std::unique_ptr<Listener>> listen(const std::string& path) {
        return Listener::create(*loop_, folder_ + path, "", [](base::UniqueFd) {});
    }

    std::unique_ptr<base::EventLoop> loop_;
    std::string folder_;
};

TEST_F(ListenerTest, MakesTheSocketsFolderButNoDeeperOnes) {
    const auto listener = listen("/run/paced.sock");
    ASSERT_TRUE(listener) << listener.error().message;
    EXPECT_TRUE(std::filesystem::is_socket(folder_ + "/run/paced.sock"));
    const auto deep = listen("/a/b/paced.sock");
    ASSERT_FALSE(deep);
    EXPECT_NE(deep.error().message.find(folder_ + "/a/b"), std::string::npos);
    EXPECT_NE(deep.error().message.find("--socket"), std::string::npos);
}

TEST_F(ListenerTest, OpensTheSocketToItsGroup) {
    const group* own = getgrgid(getegid());
    if (own == nullptr) GTEST_SKIP() << "the group of this process has no name";
    const auto listener =
        Listener::create(*loop_, folder_ + "/paced.sock", own->gr_name, [](base::UniqueFd) {});
    ASSERT_TRUE(listener);
    struct stat made {};
    ASSERT_EQ(stat((folder_ + "/paced.sock").c_str(), &made), 0);
    EXPECT_EQ(made.st_gid, getegid());
    EXPECT_EQ(made.st_mode & 07777U, 0660U);
}

TEST_F(ListenerTest, RefusesASocketThatAnotherServes) {
    const auto first = listen("/paced.sock");
    ASSERT_TRUE(first);
    const auto second = listen("/paced.sock");
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().kind, base::ErrorKind::taken);
}

// Each thread opens the lock file, which another may remove before the lock is held.
TEST_F(ListenerTest, KeepsOthersOutWhileTheyStopAndStart) {
    constexpr int kThreads = 4;
    constexpr int kRounds = 2000;
    std::atomic<int> serving = 0;
    std::atomic<int> most = 0;
    std::vector<std::thread> threads;
    for (int thread = 0; thread < kThreads; ++thread)
        threads.emplace_back([&] {
            const auto loop = base::EventLoop::create().value();
            for (int round = 0; round < kRounds; ++round) {
                const auto listener =
                    Listener::create(*loop, folder_ + "/paced.sock", "", [](base::UniqueFd) {});
                if (!listener) continue;
                const int now = ++serving;
                most = std::max(most.load(), now);
                std::this_thread::yield();
                --serving;
            }
        });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(most, 1) << "two had the lock";
}

// Waits for the listener's own timer, about a second. The first part shows that the loop does not
// spin meanwhile.
TEST_F(ListenerTest, AcceptsAgainOnceThereAreDescriptors) {
    std::vector<base::UniqueFd> accepted;
    const auto listener = Listener::create(
        *loop_, folder_ + "/paced.sock", "",
        [&accepted](base::UniqueFd client) { accepted.push_back(std::move(client)); });
    ASSERT_TRUE(listener);
    const base::UniqueFd early = connect_to_listener((*listener)->path());
    {
        const NoMoreDescriptors none;
        loop_->turn(true);
        EXPECT_TRUE(accepted.empty());
    }
    bool late = false;
    const base::Timer deadline =
        loop_->run_after(std::chrono::seconds(20), [&late] { late = true; });
    int turns = 0;
    for (; accepted.empty() && !late; ++turns) loop_->turn(true);
    EXPECT_EQ(accepted.size(), 1U) << "the one that came while there were none";
    EXPECT_LT(turns, 10) << "the loop sleeps, although the socket is readable";
    const base::UniqueFd next = connect_to_listener((*listener)->path());
    while (accepted.size() == 1 && !late) loop_->turn(true);
    EXPECT_EQ(accepted.size(), 2U);
}

TEST_F(ListenerTest, LeavesNothingBehind) {
    ASSERT_TRUE(listen("/paced.sock"));
    EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

}  // namespace
}  // namespace pace::daemon
