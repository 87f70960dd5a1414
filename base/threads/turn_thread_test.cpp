#include "base/threads/turn_thread.h"

#include <atomic>
#include <future>
#include <string>

#include <gtest/gtest.h>

#include "base/attempt.h"
#include "base/threads/no_more_threads.h"

namespace pace::base {
namespace {

// Returns work in three pieces. Each piece writes a letter.
TurnThread::Piece three(std::string& out, char letter) {
    return [&out, letter, left = 3]() mutable {
        out += letter;
        return --left > 0;
    };
}

TEST(TurnThread, GivesEveryAskerAPieceInTurnAndKeepsTheOrderOfEach) {
    TurnThread thread;
    std::string out;
    std::promise<void> all_asked;
    std::promise<void> last;
    // The first work waits, so that no other work begins before all have asked.
    thread.run(9, [&] {
        all_asked.get_future().wait();
        return false;
    });
    thread.run(1, three(out, 'a'));
    thread.run(1, three(out, 'b'));
    thread.run(2, three(out, 'c'));
    thread.run(3, three(out, 'd'));
    thread.run(1, [&] {
        last.set_value();
        return false;
    });
    all_asked.set_value();
    last.get_future().wait();
    EXPECT_EQ(out, "acdacdacdbbb");
}

TEST(TurnThread, DropsWhatHasNotBegun) {
    std::promise<void> begun;
    std::atomic<int> pieces = 0;
    {
        TurnThread thread;
        thread.run(1, [&] {
            if (++pieces == 1) begun.set_value();
            return true;  // there is always more work
        });
        begun.get_future().wait();
    }
    const int by_its_end = pieces;
    std::this_thread::yield();
    EXPECT_EQ(pieces, by_its_end);
}

TEST(TurnThread, ThatCannotBeginSaysSoAndForgetsTheWork) {
    if (!NoMoreThreads::possible()) GTEST_SKIP() << "the sanitizer needs memory itself";
    TurnThread thread;
    std::atomic<bool> wrongly = false;
    {
        const NoMoreThreads none;
        ASSERT_TRUE(none.is_so());
        EXPECT_FALSE(attempt([&] {
            thread.run(1, [&] {
                wrongly = true;
                return false;
            });
        }));
    }
    std::promise<void> done;
    thread.run(1, [&] {
        done.set_value();
        return false;
    });
    done.get_future().wait();
    EXPECT_FALSE(wrongly);
}

TEST(TurnThread, ThatWasNeverUsedEnds) {
    const TurnThread thread;
}

}  // namespace
}  // namespace pace::base
