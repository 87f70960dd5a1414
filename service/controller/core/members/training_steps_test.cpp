#include "service/controller/core/members/training_steps.h"

#include <gtest/gtest.h>

namespace pace::controller {
namespace {

constexpr uint64_t kSecondUs = 1'000'000;

// Told every `every_us`, for so long, of a trainer whose steps take `step_us`.
TrainingSteps trained(uint64_t step_us, uint64_t every_us, uint64_t for_us, uint64_t total) {
    TrainingSteps steps;
    for (uint64_t now = 0; now <= for_us; now += every_us) steps.tell(now / step_us, total, now);
    return steps;
}

TEST(TrainingSteps, TheRestTakesAsLongAsTheLastStepsSay) {
    for (const uint64_t step_us : {1'000U, 50'000U, 700'000U, 3'000'000U, 20'000'000U})
        for (const uint64_t every_us : {100'000U, 300'000U, 1'000'000U}) {
            const TrainingSteps steps = trained(step_us, every_us, 200 * kSecondUs, 1'000'000);
            const double rest = static_cast<double>((1'000'000 - steps.done()) * step_us) / 1e6;
            ASSERT_TRUE(steps.left_s()) << step_us;
            EXPECT_NEAR(*steps.left_s(), rest, 0.2 * rest) << step_us << ", told each " << every_us;
        }
}

TEST(TrainingSteps, NothingIsKnownBeforeTheFirstStretch) {
    EXPECT_FALSE(TrainingSteps().is_told());
    EXPECT_FALSE(TrainingSteps().left_s());
    EXPECT_FALSE(trained(kSecondUs, kSecondUs, kSecondUs, 100).left_s());
    EXPECT_TRUE(trained(kSecondUs, kSecondUs, 3 * kSecondUs, 100).left_s());
}

// A newcomer is taken to the others' step by the model that it gets.
TEST(TrainingSteps, AJumpIsNoPace) {
    TrainingSteps steps = trained(kSecondUs, kSecondUs, 20 * kSecondUs, 10'000);
    for (uint64_t second = 21; second <= 40; ++second)
        steps.tell(5'000 + second, 10'000, second * kSecondUs);
    EXPECT_DOUBLE_EQ(*steps.left_s(), 10'000 - 5'040);
}

TEST(TrainingSteps, ATrainerOrADaemonMayBeginAnew) {
    TrainingSteps steps = trained(kSecondUs, kSecondUs, 20 * kSecondUs, 100);
    steps.tell(5, 100, 21 * kSecondUs);  // from a checkpoint
    EXPECT_EQ(steps.done(), 5U);
    EXPECT_DOUBLE_EQ(*steps.left_s(), 95);
    steps.tell(7, 100, 3);  // another clock
    steps.tell(8, 100, 3 + 10 * kSecondUs);
    EXPECT_DOUBLE_EQ(*steps.left_s(), 92) << "one stretch of many was slow";
    steps.tell(0, 0, 0);
    EXPECT_FALSE(steps.is_told());
}

TEST(TrainingSteps, NothingIsLeftAtTheEndHoweverManyWereMade) {
    EXPECT_EQ(trained(kSecondUs, kSecondUs, 10 * kSecondUs, 10).left_s(), 0.0);
    EXPECT_EQ(trained(kSecondUs, kSecondUs, 10 * kSecondUs, 3).left_s(), 0.0);
}

TEST(TrainingSteps, WhateverADaemonSaysGivesANumber) {
    TrainingSteps steps;
    steps.tell(1, ~uint64_t{0}, 0);
    steps.tell(2, ~uint64_t{0}, ~uint64_t{0});
    EXPECT_GT(*steps.left_s(), 0);
    steps.tell(~uint64_t{0} - 1, ~uint64_t{0}, ~uint64_t{0});
    EXPECT_GT(*steps.left_s(), 0);
}

}  // namespace
}  // namespace pace::controller
