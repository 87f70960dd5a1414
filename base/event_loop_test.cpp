#include "base/event_loop.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>

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
    loop->run_after(milliseconds(4), [&] { order += 'c', loop->stop(); });
    loop->run_after(milliseconds(1), [&] { order += 'a'; });
    loop->run_after(milliseconds(2), [&] { order += 'b'; });
    const auto canceled = loop->run_after(milliseconds(3), [&] { order += 'x'; });
    loop->cancel_timer(canceled);
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
    std::thread::id ran_in;
    std::thread other([&] {
        loop->post([&] {
            ran_in = std::this_thread::get_id();
            loop->stop();
        });
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

}  // namespace
}  // namespace pace::base
