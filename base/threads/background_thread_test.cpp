#include "base/threads/background_thread.h"

#include <atomic>
#include <future>
#include <vector>

#include <gtest/gtest.h>

#include "base/attempt.h"
#include "base/threads/no_more_threads.h"

namespace pace::base {
namespace {

TEST(BackgroundThread, WorksOneAfterTheOtherInOrder) {
    BackgroundThread thread;
    std::vector<int> done;
    std::promise<void> last;
    for (int i = 0; i < 100; ++i) thread.run([&done, i] { done.push_back(i); });
    thread.run([&last] { last.set_value(); });
    last.get_future().wait();
    ASSERT_EQ(done.size(), 100U);
    for (int i = 0; i < 100; ++i) EXPECT_EQ(done[static_cast<size_t>(i)], i);
}

TEST(BackgroundThread, EndsThePieceAtHand) {
    std::promise<void> begun;
    std::promise<void> go_on;
    bool first = false;
    std::thread letting_go;
    {
        BackgroundThread thread;
        thread.run([&] {
            begun.set_value();
            go_on.get_future().wait();
            first = true;
        });
        begun.get_future().wait();
        letting_go = std::thread([&] { go_on.set_value(); });
    }
    letting_go.join();
    EXPECT_TRUE(first);
}

TEST(BackgroundThread, ThatCannotBeginSaysSoAndForgetsTheWork) {
    if (!NoMoreThreads::possible()) GTEST_SKIP() << "the sanitizer needs memory itself";
    BackgroundThread thread;
    std::atomic<bool> wrongly = false;
    {
        const NoMoreThreads none;
        ASSERT_TRUE(none.is_so());
        EXPECT_FALSE(attempt([&] { thread.run([&] { wrongly = true; }); }));
    }
    std::promise<void> done;
    thread.run([&] { done.set_value(); });
    done.get_future().wait();
    EXPECT_FALSE(wrongly);
}

TEST(BackgroundThread, ThatWasNeverUsedEnds) {
    const BackgroundThread thread;
}

}  // namespace
}  // namespace pace::base
