#include "service/simulator/model/distribution.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace pace::simulator {
namespace {

std::vector<double> draws_of(const Distribution& distribution) {
    base::Random random(7);
    std::vector<double> draws(50'000);
    for (double& draw : draws) draw = draw_s(distribution, random);
    return draws;
}

double mean_of(const std::vector<double>& draws) {
    return std::accumulate(draws.begin(), draws.end(), 0.0) / static_cast<double>(draws.size());
}

double cv_of(const std::vector<double>& draws) {
    const double mean = mean_of(draws);
    double squares = 0;
    for (const double draw : draws) squares += (draw - mean) * (draw - mean);
    return std::sqrt(squares / static_cast<double>(draws.size())) / mean;
}

TEST(Distribution, ConstantIsTheMeanAlways) {
    for (const double draw : draws_of({Shape::constant, 0.2, 0, 0, {}})) EXPECT_EQ(draw, 0.2);
}

TEST(Distribution, NormalAndLognormalHaveTheirMeanAndTheirSpread) {
    for (const Shape shape : {Shape::normal, Shape::lognormal}) {
        const std::vector<double> draws = draws_of({shape, 0.2, 0.3, 0, {}});
        EXPECT_NEAR(mean_of(draws), 0.2, 0.002);
        EXPECT_NEAR(cv_of(draws), 0.3, 0.01);
        EXPECT_GT(*std::min_element(draws.begin(), draws.end()), 0);
    }
}

// An exponential distribution beyond the least time m has the deviation mean - m.
TEST(Distribution, ExponentialBeginsAtTheLeast) {
    const std::vector<double> draws = draws_of({Shape::exponential, 0.3, 0, 0.1, {}});
    EXPECT_NEAR(mean_of(draws), 0.3, 0.004);
    EXPECT_NEAR(cv_of(draws), 2.0 / 3, 0.02);
    EXPECT_GE(*std::min_element(draws.begin(), draws.end()), 0.1);
}

// A mean of 0.15 and a least time of 0.1 make a tail of index 3: one draw in eight is more than
// twice the least time.
TEST(Distribution, ParetoHasALongTail) {
    const std::vector<double> draws = draws_of({Shape::pareto, 0.15, 0, 0.1, {}});
    EXPECT_NEAR(mean_of(draws), 0.15, 0.003);
    const auto beyond =
        std::count_if(draws.begin(), draws.end(), [](double draw) { return draw > 0.2; });
    EXPECT_NEAR(static_cast<double>(beyond) / 50'000, 0.125, 0.005);
    EXPECT_GE(*std::min_element(draws.begin(), draws.end()), 0.1);
}

TEST(Distribution, ATraceGivesItsTimesEachAsOften) {
    const std::vector<double> draws = draws_of({Shape::trace, 0, 0, 0, {0.1, 0.4}});
    EXPECT_NEAR(static_cast<double>(std::count(draws.begin(), draws.end(), 0.4)) / 50'000, 0.5,
                0.01);
    EXPECT_NEAR(mean_of(draws), 0.25, 0.003);
}

}  // namespace
}  // namespace pace::simulator
