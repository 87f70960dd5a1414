// Tests TopkA, TopkDSA, gTopk and Ok-Topk, for any number of workers.
#include <gtest/gtest.h>

#include "daemon/sparse/tests/reference.h"
#include "daemon/sparse/tests/test_run.h"

namespace pace::sparse {
namespace {

constexpr Algorithm kRivals[] = {Algorithm::topk_a, Algorithm::topk_dsa, Algorithm::g_topk,
                                 Algorithm::ok_topk};

class RivalsAmong : public testing::TestWithParam<size_t> {};
INSTANTIATE_TEST_SUITE_P(Workers, RivalsAmong, testing::Range(size_t{1}, size_t{18}));

Options options_of(Algorithm algorithm, double density) {
    Options options;
    options.algorithm = algorithm;
    options.density = density;
    return options;
}

TEST_P(RivalsAmong, NothingIsLostInAnyFormat) {
    const size_t P = GetParam();
    for (const Algorithm algorithm : kRivals)
        for (const ValueFormat value : {ValueFormat::f32, ValueFormat::f16, ValueFormat::bf16})
            for (const size_t count : {0U, 1U, 7U, 300U})
                for (const double density : {0.02, 0.3, 1.0}) {
                    Options options = options_of(algorithm, density);
                    options.format = {
                        value == ValueFormat::f32 ? IndexFormat::plain : IndexFormat::elias_fano,
                        value};
                    SparseCluster cluster(P, count);
                    for (uint64_t iteration = 0; iteration < 3; ++iteration) {
                        const auto gradients = gradients_of(P, count, iteration, 20000);
                        const std::vector<double> before = cluster.owed(gradients);
                        const Vector result = cluster.exchange(options, gradients, iteration);
                        const std::vector<double> after = cluster.owed({result});
                        for (size_t i = 0; i < count; ++i)
                            ASSERT_EQ(before[i], after[i])
                                << name_of(algorithm) << " P " << P << " n " << count << " element "
                                << i << " iteration " << iteration << " format "
                                << static_cast<int>(value) << " density " << density;
                    }
                }
}

// Returns every worker's top k.
std::vector<Chosen> local_top_k(const std::vector<Vector>& gradients, size_t k) {
    std::vector<Chosen> chosen;
    for (const Vector& gradient : gradients)
        chosen.push_back(reference_top_k(elements_of(gradient, 0, gradient.size()), k));
    return chosen;
}

Chosen sum_of(const std::vector<Chosen>& lists) {
    Chosen total;
    for (const Chosen& list : lists)
        for (const auto& [i, value] : list) total[i] += value;
    return total;
}

void expect_result(const Vector& result, const Chosen& expected, const std::string& what) {
    for (size_t i = 0; i < result.size(); ++i) {
        const auto found = expected.find(i);
        ASSERT_EQ(result[i], found == expected.end() ? 0.0F : found->second) << what << " " << i;
    }
}

TEST_P(RivalsAmong, TopkAAndTopkDSASumEverybodysTopK) {
    const size_t P = GetParam();
    for (const double density : {0.02, 0.2, 0.9})
        for (const Algorithm algorithm : {Algorithm::topk_a, Algorithm::topk_dsa}) {
            const auto gradients = gradients_of(P, 400, 5);
            SparseCluster cluster(P, 400);
            const Vector result = cluster.exchange(options_of(algorithm, density), gradients);
            const auto chosen = local_top_k(gradients, top_count(400, density));
            expect_result(result, sum_of(chosen), std::string(name_of(algorithm)));
            // Each worker keeps what it did not send. If a sum is zero, TopkDSA has nothing to
            // deliver, and every worker gets its own value back.
            const Chosen total = sum_of(chosen);
            for (size_t w = 0; w < P; ++w)
                for (size_t i = 0; i < 400; ++i) {
                    const auto sum = total.find(i);
                    const bool returned = algorithm == Algorithm::topk_dsa && sum != total.end() &&
                                          sum->second == 0.0F;
                    const bool is_sent = chosen[w].count(i) != 0 && !returned;
                    ASSERT_EQ(cluster.residual(w)[i], is_sent ? 0.0F : gradients[w][i]);
                }
        }
}

// The tree of g_topk.h, worker by worker.
Chosen reference_g_topk(const std::vector<Vector>& gradients, size_t k) {
    std::vector<Chosen> held = local_top_k(gradients, k);
    const size_t P = held.size();
    const size_t folded = std::bit_floor(P);
    for (size_t w = folded; w < P; ++w)
        held[w - folded] = reference_top_k(sum_of({held[w - folded], held[w]}), k);
    for (size_t distance = 1; distance < folded; distance *= 2)
        for (size_t w = 0; w < folded; w += 2 * distance)
            held[w] = reference_top_k(sum_of({held[w], held[w + distance]}), k);
    return held[0];
}

TEST_P(RivalsAmong, GTopkCutsAtEveryNodeOfItsTree) {
    const size_t P = GetParam();
    const auto gradients = gradients_of(P, 300, 8);
    SparseCluster cluster(P, 300);
    const Vector result = cluster.exchange(options_of(Algorithm::g_topk, 0.05), gradients);
    expect_result(result, reference_g_topk(gradients, 15), "gtopk");
    EXPECT_LE(cluster.report(0).chosen, 15U);
}

TEST_P(RivalsAmong, GTopkGivesBackWhatItSentInVain) {
    const size_t P = GetParam();
    const auto gradients = gradients_of(P, 300, 8);
    Options options = options_of(Algorithm::g_topk, 0.05);
    options.residuals = ResidualMode::partial;
    SparseCluster cluster(P, 300);
    (void)cluster.exchange(options, gradients);
    const auto chosen = local_top_k(gradients, 15);
    const Chosen total = reference_g_topk(gradients, 15);
    for (size_t w = 0; w < P; ++w)
        for (size_t i = 0; i < 300; ++i) {
            const bool is_sent = chosen[w].count(i) != 0 && total.count(i) != 0;
            ASSERT_EQ(cluster.residual(w)[i], is_sent ? 0.0F : gradients[w][i]);
        }
}

TEST_P(RivalsAmong, OkTopkBeginsWithExactThresholds) {
    const size_t P = GetParam();
    const size_t k = 20;
    const auto gradients = gradients_of(P, 400, 6);
    SparseCluster cluster(P, 400);
    const Vector result = cluster.exchange(options_of(Algorithm::ok_topk, 0.05), gradients);
    const Chosen total = sum_of(local_top_k(gradients, k));
    // All elements that reach the k-th magnitude, so ties are included.
    float threshold = 1e9F;
    for (const auto& [i, value] : reference_top_k(total, k))
        threshold = std::min(threshold, std::abs(value));
    Chosen expected;
    for (const auto& [i, value] : total)
        if (std::abs(value) >= threshold) expected[i] = value;
    expect_result(result, expected, "oktopk");
}

TEST(OkTopk, KeepsNearKBetweenExactThresholds) {
    const size_t P = 6;
    const size_t count = 20000;
    SparseCluster cluster(P, count);
    const Options options = options_of(Algorithm::ok_topk, 0.01);
    for (uint64_t iteration = 0; iteration < 70; ++iteration) {
        (void)cluster.exchange(options, gradients_of(P, count, iteration, 1000000));
        EXPECT_GT(cluster.report(0).chosen, 20U) << iteration;
        // At first the residuals grow faster than the thresholds are nudged. A local choice of more
        // than 4k elements is made anew.
        EXPECT_LT(cluster.report(0).chosen, iteration < 32 ? 4 * 200 * P : 2000) << iteration;
    }
}

TEST(OkTopk, BalancesWhatFallsIntoOneRegion) {
    // Boundaries are set for a distribution that is gone at the next exchange.
    const size_t P = 8;
    const size_t count = 4000;
    SparseCluster cluster(P, count);
    const Options options = options_of(Algorithm::ok_topk, 0.05);
    (void)cluster.exchange(options, gradients_of(P, count, 1, 100));
    auto gradients = gradients_of(P, count, 2, 10);
    for (Vector& gradient : gradients)
        for (size_t i = 0; i < 180; ++i) gradient[i] = 5000 + static_cast<float>(i);
    const std::vector<double> before = cluster.owed(gradients);
    const Vector result = cluster.exchange(options, gradients);
    EXPECT_GT(cluster.report(0).chosen, 170U);
    const std::vector<double> after = cluster.owed({result});
    EXPECT_EQ(before, after);
}

TEST(OkTopk, RegionsFollowWhereTheChosenLie) {
    // All great elements lie at the beginning. With equal ranges one worker would own all of them.
    const size_t P = 4;
    const size_t count = 4000;
    SparseCluster cluster(P, count);
    auto gradients = gradients_of(P, count, 2, 10);
    for (size_t w = 0; w < P; ++w)
        for (size_t i = 0; i < 200; ++i) gradients[w][i] = 500 + static_cast<float>(i + w);
    const Vector result = cluster.exchange(options_of(Algorithm::ok_topk, 0.05), gradients);
    (void)result;
    for (size_t w = 1; w < P; ++w)
        EXPECT_NEAR(static_cast<double>(cluster.report(w).bytes_received),
                    static_cast<double>(cluster.report(0).bytes_received), 700);
}

}  // namespace
}  // namespace pace::sparse
