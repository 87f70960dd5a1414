#include "daemon/clients/listener.h"

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

TEST_F(ListenerTest, RefusesASocketThatAnotherServes) {
    const auto first = listen("/paced.sock");
    ASSERT_TRUE(first);
    const auto second = listen("/paced.sock");
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().kind, base::ErrorKind::taken);
}

// Each opens the lock, which another may remove before it is held.
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

TEST_F(ListenerTest, LeavesNothingBehind) {
    ASSERT_TRUE(listen("/paced.sock"));
    EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

}  // namespace
}  // namespace pace::daemon
