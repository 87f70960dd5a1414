#include "base/loop/task.h"

#include <new>
#include <numeric>
#include <optional>
#include <stdexcept>

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

// ------------------------------------------------------------------------------------ no memory

Task<Result<int>> without_memory(OneShot<int>& input) {
    co_await input;
    throw std::bad_alloc();
}

Task<int> value_without_memory(OneShot<int>& input) {
    const int value = co_await input;
    if (value != 0) throw std::length_error("too long");
    co_return value;
}

Task<Result<int>> awaits_it(OneShot<int>& input) {
    co_return co_await value_without_memory(input);
}

TEST(Task, ThatFindsNoMemoryEndsWithThatError) {
    OneShot<int> input;
    std::optional<Result<int>> result;
    spawn<Result<int>>(without_memory(input), [&](const Result<int>& got) { result = got; });
    input.set(1);
    ASSERT_TRUE(result);
    ASSERT_FALSE(*result);
    EXPECT_EQ(result->error().kind, ErrorKind::memory);
}

TEST(Task, WhoseValueFindsNoMemoryEndsWithThatError) {
    OneShot<int> input;
    std::optional<Result<int>> result;
    spawn<Result<int>>(awaits_it(input), [&](const Result<int>& got) { result = got; });
    input.set(1);
    ASSERT_TRUE(result);
    ASSERT_FALSE(*result);
    EXPECT_EQ(result->error().kind, ErrorKind::memory);
}

TEST(Task, ThatFindsNoMemoryLeavesTheOthersOfWhenAllAlone) {
    std::vector<OneShot<int>> inputs(2);
    std::vector<Task<Result<int>>> tasks;
    tasks.push_back(without_memory(inputs[0]));
    tasks.push_back(awaits_it(inputs[1]));
    std::vector<Result<int>> results;
    spawn<std::vector<Result<int>>>(
        when_all(std::move(tasks)),
        [&](std::vector<Result<int>> values) { results = std::move(values); });
    inputs[0].set(0);
    EXPECT_TRUE(results.empty());
    inputs[1].set(0);
    ASSERT_EQ(results.size(), 2U);
    EXPECT_FALSE(results[0]);
    EXPECT_TRUE(results[1]);
}

}  // namespace
}  // namespace pace::base
