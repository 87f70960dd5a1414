#include "base/loop/loop_watch.h"

#include <sched.h>

#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/loop/event_loop.h"

namespace pace::base {
namespace {

using std::chrono::milliseconds;

// Works for `time`, measured by the thread's own processor time: waiting for a processor is not
// work.
void work_for(Duration time) {
    const Duration end = thread_cpu_time() + time;
    while (thread_cpu_time() < end) {
    }
}

// Work that is long whatever else the machine does: the watch may leave out as much as twenty
// milliseconds too many, which the thread waited for a processor before the callback began.
void work_long() {
    work_for(LoopWatch::kLong + milliseconds(25));
}

struct Watched {
    Watched() : loop(std::move(EventLoop::create()).value()) {
        loop->watch_of_steps().set_handler(
            [this](const LoopWatch::Step& step) { long_ones.push_back(step); });
    }
    std::unique_ptr<EventLoop> loop;
    Scope scope;
    std::vector<LoopWatch::Step> long_ones;
};

// Another thread works meanwhile, and this one waits for it.
TEST(ThreadCpuTime, DoesNotCountWaiting) {
    const Duration begin = thread_cpu_time();
    std::thread(work_for, milliseconds(50)).join();
    EXPECT_LT(thread_cpu_time() - begin, milliseconds(25));
    work_for(milliseconds(5));
    EXPECT_GE(thread_cpu_time() - begin, milliseconds(5));
}

TEST(LoopWatch, NamesWhoHeldUpTheLoop) {
    Watched watched;
    EventLoop& loop = *watched.loop;
    loop.defer(watched.scope.callback([] {}));
    const auto step = watched.scope.callback([&] {
        work_long();
        loop.stop();
    });
    loop.defer(step);
    const unsigned line = __LINE__ - 1;
    loop.run();
    ASSERT_EQ(watched.long_ones.size(), 1U);
    EXPECT_EQ(watched.long_ones[0].origin, fmt::format("loop_watch_test.cpp:{}", line));
    EXPECT_GE(watched.long_ones[0].took, LoopWatch::kLong);
    EXPECT_EQ(loop.watch_of_steps().long_steps(), 1U);
    EXPECT_EQ(loop.watch_of_steps().longest().origin, watched.long_ones[0].origin);
}

TEST(LoopWatch, LooksAtEveryKindOfCallback) {
    struct LongPoller final : Poller {
        bool poll() override {
            if (polled) return false;
            work_long();
            return polled = true;
        }
        bool arm() override { return true; }
        bool polled = false;
    };
    Watched watched;
    EventLoop& loop = *watched.loop;
    LongPoller poller;
    loop.add_poller(&poller);
    loop.post(watched.scope.callback(work_long));
    const Timer timer = loop.run_after(milliseconds(1), [&] {
        work_long();
        loop.stop();
    });
    loop.run();
    EXPECT_EQ(watched.long_ones.size(), 3U);
    loop.remove_poller(&poller);
}

TEST(LoopWatch, LetsShortStepsPass) {
    Watched watched;
    EventLoop& loop = *watched.loop;
    for (int i = 0; i < 20; ++i)
        loop.defer(watched.scope.callback([] { work_for(milliseconds(5)); }));
    loop.defer(watched.scope.callback([&] { loop.stop(); }));
    loop.run();
    EXPECT_TRUE(watched.long_ones.empty()) << watched.long_ones[0].origin;
    EXPECT_GE(loop.watch_of_steps().longest().took, milliseconds(4));
}

// The thread shares its only processor with threads that want all of it.
TEST(LoopWatch, DoesNotBlameACallbackForABusyMachine) {
    cpu_set_t all;
    ASSERT_EQ(sched_getaffinity(0, sizeof(all), &all), 0);
    cpu_set_t one;
    CPU_ZERO(&one);
    for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++i)
        if (CPU_ISSET(i, &all)) CPU_SET(i, &one);
    Watched watched;
    EventLoop& loop = *watched.loop;
    ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
    std::atomic<bool> over = false;
    std::vector<std::thread> rivals;
    for (int i = 0; i < 8; ++i)
        rivals.emplace_back([&] {
            while (!over) {
            }
        });
    Duration took{};
    loop.defer(watched.scope.callback([&] {
        const TimePoint began = now();
        work_for(LoopWatch::kLong / 2);
        took = now() - began;
        loop.stop();
    }));
    loop.run();
    over = true;
    for (std::thread& rival : rivals) rival.join();
    sched_setaffinity(0, sizeof(all), &all);
    EXPECT_GT(took, LoopWatch::kLong) << "nobody was in the way";
    EXPECT_TRUE(watched.long_ones.empty());
    EXPECT_GE(loop.watch_of_steps().longest().took, milliseconds(1));
}

}  // namespace
}  // namespace pace::base
