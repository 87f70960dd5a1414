#include "base/task.h"

#include <numeric>

#include <gtest/gtest.h>

namespace pace::base {
namespace {

Task<int> plus_one(OneShot<int>& input) {
    co_return co_await input + 1;
}

Task<int> twice(OneShot<int>& input) {
    const int value = co_await plus_one(input);
    co_return value * 2;
}

TEST(Task, ResumesItsAwaiterWhenTheOperationEnds) {
    OneShot<int> input;
    int result = 0;
    spawn<int>(twice(input), [&](int value) { result = value; });
    EXPECT_EQ(result, 0);
    input.set(20);
    EXPECT_EQ(result, 42);
}

TEST(Task, RunsOnWithoutSuspendingWhenTheOperationHasEnded) {
    OneShot<int> input;
    input.set(1);
    int result = 0;
    spawn<int>(twice(input), [&](int value) { result = value; });
    EXPECT_EQ(result, 4);
}

TEST(Task, WhenAllKeepsTheOrderOfItsTasks) {
    std::vector<OneShot<int>> inputs(17);
    std::vector<Task<int>> tasks;
    tasks.reserve(inputs.size());
    for (auto& input : inputs) tasks.push_back(plus_one(input));
    std::vector<int> results;
    spawn<std::vector<int>>(when_all(std::move(tasks)),
                            [&](std::vector<int> values) { results = std::move(values); });
    for (size_t i = inputs.size(); i-- > 0;) {
        EXPECT_TRUE(results.empty());
        inputs[i].set(static_cast<int>(i));
    }
    std::vector<int> expected(17);
    std::iota(expected.begin(), expected.end(), 1);
    EXPECT_EQ(results, expected);
}

}  // namespace
}  // namespace pace::base
