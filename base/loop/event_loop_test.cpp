#include "base/loop/event_loop.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <new>
#include <string>
#include <thread>

#include <gtest/gtest.h>

namespace pace::base {
namespace {

using std::chrono::milliseconds;

std::unique_ptr<EventLoop> make_loop(Duration spin = Duration::zero()) {
    auto loop = EventLoop::create(spin);
    EXPECT_TRUE(loop);
    return std::move(*loop);
}

TEST(EventLoop, RunsTimersInTheOrderOfTheirTimes) {
    auto loop = make_loop();
    std::string order;
    const Timer last = loop->run_after(milliseconds(4), [&] { order += 'c', loop->stop(); });
    const Timer first = loop->run_after(milliseconds(1), [&] { order += 'a'; });
    const Timer second = loop->run_after(milliseconds(2), [&] { order += 'b'; });
    loop->run();
    EXPECT_EQ(order, "abc");
}

TEST(EventLoop, CallsBackForReadableDescriptorsUntilUnwatched) {
    auto loop = make_loop();
    UniqueFd event(eventfd(3, EFD_CLOEXEC | EFD_SEMAPHORE));
    int calls = 0;
    ASSERT_TRUE(loop->watch(event.get(), EPOLLIN, [&](uint32_t) {
        uint64_t value = 0;
        ASSERT_EQ(read(event.get(), &value, sizeof(value)), static_cast<ssize_t>(sizeof(value)));
        if (++calls == 2) {
            loop->unwatch(event.get());
            loop->stop();
        }
    }));
    loop->run();
    EXPECT_EQ(calls, 2);
}

TEST(EventLoop, RunsWhatAnotherThreadPosts) {
    auto loop = make_loop();
    const Scope scope;
    std::thread::id ran_in;
    std::thread other([&] {
        loop->post(scope.callback([&] {
            ran_in = std::this_thread::get_id();
            loop->stop();
        }));
    });
    loop->run();
    other.join();
    EXPECT_EQ(ran_in, std::this_thread::get_id());
}

class CountingPoller final : public Poller {
  public:
    CountingPoller(EventLoop* loop, int work) : loop_(loop), work_left_(work) {}
    bool poll() override {
        if (work_left_ == 0) return false;
        --work_left_;
        return true;
    }
    bool arm() override {
        ++armed;
        loop_->remove_poller(this);
        loop_->stop();
        return work_left_ == 0;
    }
    int armed = 0;

  private:
    EventLoop* loop_;
    int work_left_;
};

TEST(EventLoop, ArmsAPollerOnlyWhenItsWorkIsDoneAndLetsItRemoveItself) {
    auto loop = make_loop(milliseconds(1));
    CountingPoller poller(loop.get(), 5);
    loop->add_poller(&poller);
    loop->run();
    EXPECT_EQ(poller.armed, 1);
    EXPECT_FALSE(poller.poll());
}

class Starved final : public Poller {
  public:
    bool poll() override {
        if (polls++ == 0) throw std::bad_alloc();
        return false;
    }
    bool arm() override { return true; }
    int polls = 0;
};

TEST(EventLoop, GoesOnAfterACallbackThatFoundNoMemoryAndSaysSoOnce) {
    auto loop = make_loop();
    const Scope scope;
    std::string called;
    const auto starve = [] { throw std::bad_alloc(); };
    Starved poller;
    loop->add_poller(&poller);
    loop->when_out_of_memory([&] { called += '!'; });
    loop->defer(scope.callback(starve));
    loop->defer(scope.callback([&] { called += 'd'; }));
    loop->post(scope.callback(starve));
    loop->post(scope.callback([&] { called += 'p'; }));
    const Timer first = loop->run_at(now(), starve);
    const Timer second = loop->run_at(now(), [&] { called += 't'; });
    for (int turn = 0; turn < 3; ++turn) loop->turn(false);
    EXPECT_EQ(std::count(called.begin(), called.end(), 'd'), 1) << called;
    EXPECT_EQ(std::count(called.begin(), called.end(), 'p'), 1) << called;
    EXPECT_EQ(std::count(called.begin(), called.end(), 't'), 1) << called;
    EXPECT_GE(std::count(called.begin(), called.end(), '!'), 1) << called;
    EXPECT_GT(poller.polls, 1);
    called.clear();
    loop->turn(false);
    EXPECT_EQ(called, "") << "nothing has failed since";
    loop->remove_poller(&poller);
}

}  // namespace
}  // namespace pace::base
