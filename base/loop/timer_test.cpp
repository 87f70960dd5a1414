#include "base/loop/timer.h"

#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "base/loop/event_loop.h"

namespace pace::base {
namespace {

using std::chrono::milliseconds;

class TimerTest : public ::testing::Test {
  protected:
    // Runs everything that is due until then.
    void pass(Duration time) { queue_->run(begin_ + time); }
    Timer at(Duration time, char name) {
        return queue_->add(begin_ + time, [this, name] { called_ += name; });
    }

    TimePoint begin_ = now();
    std::shared_ptr<TimerQueue> queue_ = std::make_shared<TimerQueue>();
    std::string called_;
};

TEST_F(TimerTest, AreCalledOnceInTheOrderOfTheirTimes) {
    const Timer b = at(milliseconds(2), 'b');
    const Timer a = at(milliseconds(1), 'a');
    const Timer c = at(milliseconds(3), 'c');
    pass(milliseconds(2));
    EXPECT_EQ(called_, "ab");
    EXPECT_FALSE(a.pending());
    EXPECT_TRUE(c.pending());
    EXPECT_EQ(queue_->next(), begin_ + milliseconds(3));
    pass(milliseconds(5));
    EXPECT_EQ(called_, "abc");
    EXPECT_EQ(queue_->next(), std::nullopt);
}

TEST_F(TimerTest, AreNotCalledOnceTheirOwnerIsGone) {
    {
        const Timer x = at(milliseconds(1), 'x');
        EXPECT_TRUE(x.pending());
    }
    EXPECT_EQ(queue_->next(), std::nullopt);
    pass(milliseconds(5));
    EXPECT_EQ(called_, "");
}

TEST_F(TimerTest, AreNotCalledOnceTheyAreCanceledOrReplaced) {
    Timer one = at(milliseconds(1), 'x');
    Timer other = at(milliseconds(2), 'y');
    one.cancel();
    one.cancel();
    other = at(milliseconds(3), 'b');
    pass(milliseconds(5));
    EXPECT_EQ(called_, "b");
}

TEST_F(TimerTest, GoOnUnderTheirNewOwnerWhenTheyAreMoved) {
    Timer owner;
    {
        Timer first = at(milliseconds(1), 'a');
        owner = std::move(first);
    }
    EXPECT_TRUE(owner.pending());
    pass(milliseconds(5));
    EXPECT_EQ(called_, "a");
}

TEST_F(TimerTest, MayBeStartedAnewWhileTheyAreCalled) {
    Timer again;
    again = queue_->add(begin_ + milliseconds(1), [&] {
        EXPECT_FALSE(again.pending());
        called_ += 'a';
        again = at(milliseconds(2), 'b');
    });
    pass(milliseconds(5));
    EXPECT_EQ(called_, "ab");
}

// A timer's callback may destroy the object that owns the timer.
TEST_F(TimerTest, MayEndTheirOwnerAndOthersWhileTheyAreCalled) {
    auto owned = std::make_unique<Timer>();
    auto other = std::make_unique<Timer>(at(milliseconds(2), 'x'));
    *owned = queue_->add(begin_ + milliseconds(1), [&] {
        owned.reset();
        other.reset();
        called_ += 'a';
    });
    pass(milliseconds(5));
    EXPECT_EQ(called_, "a");
}

TEST_F(TimerTest, MayOutliveTheirLoop) {
    Timer timer;
    {
        auto loop = EventLoop::create().value();
        timer = loop->run_after(milliseconds(1), [] { FAIL(); });
        EXPECT_TRUE(timer.pending());
    }
    EXPECT_FALSE(timer.pending());
    timer.cancel();
}

}  // namespace
}  // namespace pace::base
