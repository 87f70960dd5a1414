#include "service/simulator/choice/gain.h"

#include <gtest/gtest.h>

#include "service/simulator/model/scenario_fixture.h"
#include "service/simulator/runs/predict.h"

namespace pace::simulator {
namespace {

using controller::Policy;

std::optional<Gain> gain_of_all(const Scenario& scenario) {
    const auto predictions = predict_all(scenario);
    EXPECT_TRUE(predictions);
    const auto gain = gain_of(scenario, *predictions);
    EXPECT_TRUE(gain) << gain.error().message;
    return *gain;
}

Scenario one_slow() {
    Scenario scenario = even_cluster(4, 2);
    scenario.distributions[0] = {Shape::lognormal, 0.1, 0.2, 0, {}};
    scenario.workers.back().slow = 5;
    scenario.policies = {Policy::all_reduce, Policy::partial_reduce};
    scenario.group_sizes = {3};
    return scenario;
}

TEST(Gain, IsOverAllReduceWhereNobodySaysHowTheJobRuns) {
    const auto gain = gain_of_all(one_slow());
    ASSERT_TRUE(gain);
    EXPECT_EQ(gain->choice.policy, Policy::partial_reduce);
    EXPECT_EQ(gain->over, Candidate{});
    EXPECT_EQ(gain->ratios.size(), kSeeds);
    EXPECT_GT(gain->least(), 1);
    EXPECT_LT(gain->least(), gain->most());
    const std::string sentence = sentence_of(*gain);
    EXPECT_EQ(sentence.find("Choose partial-reduce with groups of 3: expect +"), 0U) << sentence;
    EXPECT_NE(sentence.find(" over all-reduce."), std::string::npos) << sentence;
}

TEST(Gain, IsOverWhatTheJobDoesNow) {
    Scenario scenario = one_slow();
    scenario.now = Candidate{.policy = Policy::full};
    const auto gain = gain_of_all(scenario);
    ASSERT_TRUE(gain);
    EXPECT_EQ(gain->over.policy, Policy::full);
}

TEST(Gain, IsOverTheNextBestIfTheJobDoesTheBestAlready) {
    Scenario scenario = one_slow();
    scenario.now = Candidate{.policy = Policy::partial_reduce, .group_size = 3};
    const auto gain = gain_of_all(scenario);
    ASSERT_TRUE(gain);
    EXPECT_TRUE(gain->keeps);
    EXPECT_EQ(gain->over.policy, Policy::all_reduce);
}

TEST(Gain, IsOverTheNextBestIfAllReduceIsNotTried) {
    Scenario scenario = one_slow();
    scenario.policies = {Policy::partial_reduce, Policy::full};
    const auto gain = gain_of_all(scenario);
    ASSERT_TRUE(gain);
    EXPECT_EQ(gain->over.policy, Policy::full);
    EXPECT_NE(sentence_of(*gain).find(" beside full, the next best."), std::string::npos);
}

TEST(Gain, ThereIsNoneBesideNothing) {
    Scenario scenario = one_slow();
    scenario.policies = {Policy::all_reduce};
    EXPECT_FALSE(gain_of_all(scenario));
}

TEST(Gain, WhatMayBeChanceIsNoReasonToChange) {
    Gain gain;
    gain.choice.policy = Policy::full;
    gain.ratios = {1.01, 0.99, 1.03};
    EXPECT_EQ(sentence_of(gain),
              "Stay with all-reduce: full is expected to make +1.0 % effective updates per second "
              "(-1.0 % to +3.0 % with 3 seeds), which may be chance.");
}

}  // namespace
}  // namespace pace::simulator
