#include "service/controller/core/groups/forecast.h"

#include <gtest/gtest.h>

namespace pace::controller {
namespace {

// Steps of 50 ms that hardly vary, four workers per node, exchanges of three that take 2 ms.
JobPace pace_of(size_t workers, double slowest = 1) {
    JobPace pace;
    pace.steps_s.assign(workers, 0.05);
    pace.steps_s.back() *= slowest;
    pace.variations = {0.98, 1, 1.02};
    pace.nodes = static_cast<uint32_t>((workers + 3) / 4);
    pace.workers_of_node = 4;
    pace.exchanges[{Policy::partial_reduce, 3}] = {0.002, 0.001};
    return pace;
}

Shape best_of(const JobPace& pace) {
    Shape best;
    double most = 0;
    for (const Shape& shape : shapes_for(static_cast<uint32_t>(pace.steps_s.size()))) {
        const double worth = forecast(pace, shape).effective_per_s();
        if (worth <= most) continue;
        most = worth;
        best = shape;
    }
    return best;
}

// The measured rates are in bench/RESULTS.md, "Policies side by side".
TEST(Forecast, IsNearWhatWasMeasuredOfSixteenWorkers) {
    const Shape full{Policy::full, 0};
    const Shape three{Policy::partial_reduce, 3};
    const Shape five{Policy::partial_reduce, 5};
    const auto rate = [](double slowest, const Shape& shape) {
        return forecast(pace_of(16, slowest), shape).updates_per_s;
    };
    EXPECT_NEAR(rate(1, full), 271, 40);
    EXPECT_NEAR(rate(2, full), 148, 15);
    EXPECT_NEAR(rate(5, full), 62, 6);
    EXPECT_NEAR(rate(1, three), 260, 40);
    EXPECT_NEAR(rate(2, three), 269, 40);
    EXPECT_NEAR(rate(5, three), 259, 40);
    EXPECT_NEAR(rate(5, five), 236, 40);
}

TEST(Forecast, FullIsBestAmongEqualsAndNotWithASlowOne) {
    EXPECT_EQ(best_of(pace_of(16)).policy, Policy::full);
    EXPECT_EQ(best_of(pace_of(16, 5)).policy, Policy::partial_reduce);
    EXPECT_EQ(best_of(pace_of(4, 5)).policy, Policy::partial_reduce);
    EXPECT_EQ(best_of(pace_of(2)).policy, Policy::full);
}

TEST(Forecast, FullWaitsForTheLongestOfManyStepsThatVary) {
    JobPace pace = pace_of(16);
    pace.variations = {0.5, 0.7, 0.8, 0.9, 1, 1, 1, 1.1, 3};
    EXPECT_LT(forecast(pace, {Policy::full, 0}).updates_per_s, 16 / 0.1);
    EXPECT_EQ(best_of(pace).policy, Policy::partial_reduce);
}

TEST(Forecast, TakesTheExchangeThatWasMeasuredOrScalesTheNearest) {
    JobPace pace = pace_of(16);
    const Shape full{Policy::full, 0};
    const double scaled = forecast(pace, full).updates_per_s;
    pace.exchanges[full] = {0.1, 0.1};
    EXPECT_LT(forecast(pace, full).updates_per_s, scaled / 2);
    EXPECT_NEAR(forecast(pace, full).updates_per_s, 16 / 0.15, 4);
    pace.exchanges.clear();
    EXPECT_NEAR(forecast(pace, full).updates_per_s, 16 / 0.05, 10);
}

TEST(Forecast, LargerGroupsAreNearerToEachOtherAndSlower) {
    const JobPace pace = pace_of(64, 5);
    Forecast before = forecast(pace, {Policy::partial_reduce, 2});
    for (const uint32_t size : {3U, 4U, 8U, 16U}) {
        const Forecast now = forecast(pace, {Policy::partial_reduce, size});
        EXPECT_LT(now.spread, before.spread) << size;
        EXPECT_LT(now.updates_per_s, before.updates_per_s * 1.02) << size;
        before = now;
    }
}

TEST(Forecast, OfAnyNumberOfWorkersAndAnyShapeIsANumber) {
    for (uint32_t workers = 1; workers <= 40; ++workers) {
        for (const Shape& shape : shapes_for(workers)) {
            JobPace pace = pace_of(workers, 5);
            for (const bool varied : {true, false}) {
                if (!varied) pace.variations.clear();
                const Forecast found = forecast(pace, shape);
                EXPECT_GT(found.updates_per_s, 0) << workers << ' ' << text_of(shape);
                EXPECT_LT(found.updates_per_s, 21.0 * workers) << workers << ' ' << text_of(shape);
                EXPECT_GE(found.spread, 0) << workers << ' ' << text_of(shape);
            }
        }
    }
}

}  // namespace
}  // namespace pace::controller
