#include "service/controller/policies/weight_generator.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <gtest/gtest.h>

#include "base/random.h"

namespace pace::controller {
namespace {

JobOptions dynamic(double alpha, Missing missing) {
    JobOptions options;
    options.weights = Weights::dynamic;
    options.alpha = alpha;
    options.missing = missing;
    return options;
}

GroupWeights weigh(const JobOptions& options, const std::vector<uint64_t>& iterations) {
    GroupWeights weights;
    generate_weights(options, iterations, weights);
    return weights;
}

struct Worked {
    std::vector<uint64_t> iterations;
    double alpha;
    Missing missing;
    std::vector<double> weights;
    double initial;
};

// The table of algorithms.md, section 1, in exact fractions.
const std::vector<Worked> kWorked = {
    {{5, 5, 2}, 0.5, Missing::closest, {2.0 / 5, 2.0 / 5, 1.0 / 5}, 0},
    {{5, 5, 2}, 0.5, Missing::initial, {4.0 / 15, 4.0 / 15, 1.0 / 15}, 2.0 / 5},
    {{3, 1}, 0.5, Missing::closest, {6.0 / 7, 1.0 / 7}, 0},
    {{3, 1}, 0.5, Missing::initial, {4.0 / 7, 1.0 / 7}, 2.0 / 7},
    {{11, 1}, 0.5, Missing::closest, {2016.0 / 2047, 31.0 / 2047}, 0},
    {{11, 1}, 0.5, Missing::initial, {1024.0 / 2047, 1.0 / 2047}, 1022.0 / 2047},
    {{4, 3, 2}, 0.5, Missing::closest, {4.0 / 7, 2.0 / 7, 1.0 / 7}, 0},
    {{4, 3, 2}, 0.5, Missing::initial, {4.0 / 7, 2.0 / 7, 1.0 / 7}, 0},
    {{5, 5, 2}, 0.9, Missing::closest, {50.0 / 181, 50.0 / 181, 81.0 / 181}, 0},
    {{7, 7, 7}, 0.5, Missing::closest, {1.0 / 3, 1.0 / 3, 1.0 / 3}, 0},
    {{7, 7, 7}, 0.9, Missing::initial, {1.0 / 3, 1.0 / 3, 1.0 / 3}, 0},
};

TEST(WeightGenerator, AgreesWithTheWorkedExamples) {
    for (const Worked& worked : kWorked) {
        const GroupWeights weights =
            weigh(dynamic(worked.alpha, worked.missing), worked.iterations);
        ASSERT_EQ(weights.members.size(), worked.weights.size());
        for (size_t i = 0; i < worked.weights.size(); ++i) {
            EXPECT_NEAR(weights.members[i], worked.weights[i], 1e-15);
        }
        EXPECT_NEAR(weights.initial, worked.initial, 1e-15);
        EXPECT_EQ(weights.iteration, worked.iterations[0]);
    }
}

TEST(WeightGenerator, GivesConstantWeightsWhateverTheIterations) {
    const GroupWeights weights = weigh(JobOptions{}, {9, 1, 4, 4});
    EXPECT_EQ(weights.members, std::vector<double>(4, 0.25));
    EXPECT_EQ(weights.initial, 0);
    EXPECT_EQ(weights.iteration, 9U);
}

TEST(WeightGenerator, CountsOnlyTheNewestWhenAlphaIsZero) {
    const GroupWeights weights = weigh(dynamic(0, Missing::initial), {4, 5, 5});
    EXPECT_EQ(weights.members, (std::vector<double>{0, 0.5, 0.5}));
}

// Equation (9) and the rule for missing versions, computed version by version.
GroupWeights slowly(const JobOptions& options, const std::vector<uint64_t>& iterations) {
    GroupWeights weights;
    weights.iteration = *std::max_element(iterations.begin(), iterations.end());
    weights.members.assign(iterations.size(), 0);
    std::vector<uint64_t> r;
    for (const uint64_t k : iterations) r.push_back(weights.iteration - k + 1);
    const uint64_t K = *std::max_element(r.begin(), r.end());
    double all = 0;
    for (uint64_t i = 1; i <= K; ++i) all += std::pow(options.alpha, static_cast<double>(i - 1));
    for (uint64_t i = 1; i <= K; ++i) {
        const double beta = std::pow(options.alpha, static_cast<double>(i - 1)) / all;
        uint64_t nearest = r[0];
        for (const uint64_t present : r) {
            const auto distance = [i](uint64_t v) { return v > i ? v - i : i - v; };
            if (std::pair(distance(present), present) < std::pair(distance(nearest), nearest))
                nearest = present;
        }
        if (nearest != i && options.missing == Missing::initial) {
            weights.initial += beta;
            continue;
        }
        const auto sharers = static_cast<double>(std::count(r.begin(), r.end(), nearest));
        for (size_t m = 0; m < r.size(); ++m) {
            if (r[m] == nearest) weights.members[m] += beta / sharers;
        }
    }
    return weights;
}

TEST(WeightGenerator, AgreesWithTheDefinitionOnRandomGroups) {
    base::Random random(7);
    for (int round = 0; round < 2000; ++round) {
        std::vector<uint64_t> iterations(1 + random.below(8));
        for (uint64_t& k : iterations) k = random.below(1 + random.below(40));
        const JobOptions options =
            dynamic(random.uniform(), random.below(2) == 0 ? Missing::closest : Missing::initial);
        const GroupWeights fast = weigh(options, iterations);
        const GroupWeights slow = slowly(options, iterations);
        for (size_t i = 0; i < iterations.size(); ++i) {
            ASSERT_NEAR(fast.members[i], slow.members[i], 1e-12) << "round " << round;
        }
        ASSERT_NEAR(fast.initial, slow.initial, 1e-12);
        const double sum = std::accumulate(fast.members.begin(), fast.members.end(), fast.initial);
        ASSERT_NEAR(sum, 1, 1e-12);
    }
}

TEST(WeightGenerator, SurvivesAnyIterationsAWorkerMayClaim) {
    for (const Missing missing : {Missing::closest, Missing::initial}) {
        for (const double alpha : {1e-300, 0.5, 1 - 1e-12}) {
            const GroupWeights weights = weigh(dynamic(alpha, missing), {~uint64_t{0}, 0, 1, 5});
            double sum = weights.initial;
            for (const double w : weights.members) {
                EXPECT_TRUE(std::isfinite(w));
                EXPECT_GE(w, 0);
                sum += w;
            }
            EXPECT_NEAR(sum, 1, 1e-9);
        }
    }
}

}  // namespace
}  // namespace pace::controller
