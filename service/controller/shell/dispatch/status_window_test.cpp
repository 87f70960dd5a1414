#include "service/controller/shell/dispatch/status_window.h"

#include <gtest/gtest.h>

namespace pace::controller {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

constexpr base::TimePoint kMoment{seconds(1000)};

uint64_t next_number() {
    static uint64_t last = 0;
    return ++last;
}

TEST(StatusWindow, AnswersWhoReadsAsOftenAsItAsks) {
    StatusWindow window(next_number);
    uint64_t seen = 0;
    for (int i = 0; i < 1000; ++i) {
        seen = window.admit("a", seen, kMoment);
        ASSERT_NE(seen, 0U);
    }
}

TEST(StatusWindow, AnswersWhoDoesNotReadOnlyAFewTimes) {
    StatusWindow window(next_number);
    std::vector<uint64_t> numbers;
    for (size_t i = 0; i < StatusWindow::kUnreadMax; ++i)
        numbers.push_back(window.admit("a", 0, kMoment));
    for (int i = 0; i < 1000; ++i) EXPECT_EQ(window.admit("a", 77, kMoment + minutes(i)), 0U);
    // Another connection has a window of its own.
    EXPECT_NE(window.admit("b", 0, kMoment), 0U);
    // The second answer has arrived, and so has the first. An old number has no further effect.
    EXPECT_NE(window.admit("a", numbers[1], kMoment), 0U);
    EXPECT_NE(window.admit("a", numbers[1], kMoment), 0U);
    EXPECT_EQ(window.admit("a", numbers[1], kMoment), 0U);
}

TEST(StatusWindow, RemembersOnlySoManyConnections) {
    StatusWindow window(next_number);
    for (size_t i = 0; i < StatusWindow::kConnectionsMax; ++i)
        EXPECT_NE(window.admit(std::to_string(i), 0, kMoment), 0U);
    EXPECT_EQ(window.admit("more", 0, kMoment), 0U);
    EXPECT_NE(window.admit("more", 0, kMoment + minutes(2)), 0U);
}

}  // namespace
}  // namespace pace::controller
