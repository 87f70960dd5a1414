#include "daemon/sparse/algorithms/dense.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "daemon/collectives/tests/test_data.h"
#include "daemon/sparse/tests/test_run.h"

namespace pace::sparse {
namespace {

using protocol::DType;

class DenseAmong : public testing::TestWithParam<size_t> {};
INSTANTIATE_TEST_SUITE_P(Workers, DenseAmong, testing::Range(size_t{1}, size_t{18}));

Options dense_options() {
    Options options;
    options.algorithm = Algorithm::dense;
    return options;
}

TEST_P(DenseAmong, PaysWhatASparseExchangeLeftAndLeavesNothing) {
    const size_t P = GetParam();
    for (const size_t count : {0U, 1U, 7U, 3000U})
        for (const Algorithm before : {Algorithm::spar_dl, Algorithm::g_topk, Algorithm::dense}) {
            SCOPED_TRACE(fmt::format("n {} after {}", count, name_of(before)));
            SparseCluster cluster(P, count);
            for (uint64_t iteration = 0; iteration < 3; ++iteration) {
                Options first;
                first.algorithm = before;
                first.density = 0.05;
                (void)cluster.exchange(first, gradients_of(P, count, 2 * iteration));
                const auto gradients = gradients_of(P, count, 2 * iteration + 1, 20000);
                const std::vector<double> owed = cluster.owed(gradients);
                const Vector result = cluster.exchange(dense_options(), gradients, iteration);
                for (size_t i = 0; i < count; ++i)
                    ASSERT_EQ(static_cast<double>(result[i]), owed[i]) << "element " << i;
                for (size_t w = 0; w < P; ++w) {
                    EXPECT_EQ(cluster.residual(w), Vector(count, 0.0F));
                    EXPECT_EQ(cluster.report(w).chosen, count);
                }
            }
        }
}

TEST_P(DenseAmong, SendsWhatADenseAllReduceSends) {
    const size_t P = GetParam();
    const size_t count = 16 * P * 30;
    SparseCluster cluster(P, count);
    Options options = dense_options();
    options.all_reduce.small_bytes_max = 0;
    (void)cluster.exchange(options, gradients_of(P, count, 1));
    // Each segment is padded. The lengths of the blocks differ slightly by where they are cut.
    const size_t bytes = count * sizeof(float);
    for (size_t w = 0; w < P; ++w) {
        EXPECT_NEAR(static_cast<double>(cluster.report(w).bytes_sent),
                    static_cast<double>(2 * (P - 1) * bytes) / static_cast<double>(P),
                    static_cast<double>(4 * P * collectives::kCutBytes));
        EXPECT_NEAR(static_cast<double>(cluster.report(w).bytes_received),
                    static_cast<double>(2 * (P - 1) * bytes) / static_cast<double>(P),
                    static_cast<double>(4 * P * collectives::kCutBytes));
    }
}

TEST(Dense, TheResultIsScaledAndNothingIsLostWithoutTheScale) {
    for (const size_t P : {1U, 4U}) {
        SparseCluster sums(P, 900);
        SparseCluster means(P, 900);
        const auto gradients = gradients_of(P, 900, 5);
        const Vector sum = sums.exchange(dense_options(), gradients);
        const Vector mean = means.exchange(dense_options(), gradients, std::nullopt, 0.25);
        for (size_t i = 0; i < 900; ++i) EXPECT_EQ(mean[i], sum[i] * 0.25F);
    }
}

TEST(Dense, TeamsAndDensityDoNotMatterToIt) {
    Options options = dense_options();
    options.teams = 4;
    for (const size_t nodes : {1U, 3U, 6U}) EXPECT_TRUE(check(options, nodes));
    options.algorithm = static_cast<Algorithm>(7);
    EXPECT_FALSE(check(options, 4));
    EXPECT_EQ(name_of(Algorithm::dense), "dense");
}

TEST(Dense, ABrokenGradientShowsItselfToAllAndIsOver) {
    SparseCluster cluster(5, 500);
    auto gradients = gradients_of(5, 500, 2);
    gradients[3][123] = std::numeric_limits<float>::quiet_NaN();
    gradients[1][400] = std::numeric_limits<float>::infinity();
    const Vector result = cluster.exchange(dense_options(), gradients);
    EXPECT_TRUE(std::isnan(result[123]));
    EXPECT_TRUE(std::isinf(result[400]));
    for (size_t w = 0; w < 5; ++w) EXPECT_EQ(cluster.residual(w), Vector(500, 0.0F));
}

// Nodes with two weighted members and a residual each, and one node without members, all on one
// layout.
struct MixedDense {
    MixedDense(collectives::Layout chosen, size_t nodes) : layout(std::move(chosen)) {
        count = Packed(layout).count();
        sum.resize(count);
        for (size_t w = 0; w < nodes; ++w) {
            std::vector<collectives::Worker> members;
            for (size_t m = 0; m < (w == 1 ? 0U : 2U); ++m) {
                const Vector values = whole_numbers(count, 10 * w + m, 20);
                const double weight = m == 0 ? 1.0 : 2.0;
                members.push_back(collectives::make_worker(
                    layout, weight, [&](size_t i) { return static_cast<double>(values[i]); }));
                for (size_t i = 0; i < count; ++i) sum[i] += weight * values[i];
            }
            workers.push_back(std::move(members));
            const Vector owed = whole_numbers(count, 100 + w, 9);
            for (size_t i = 0; i < count; ++i) sum[i] += owed[i];
            Residual residual(count);
            (void)residual.absorb(owed);
            states.emplace_back(std::move(residual));
        }
    }

    void expect_half_the_sum(const std::vector<std::byte>& result) const {
        Packed(layout).for_each(0, count, [&](size_t s, size_t, size_t n, size_t place) {
            for (size_t i = 0; i < n; ++i)
                ASSERT_EQ(collectives::read_value(layout.segments()[s].dtype,
                                                  result.data() + layout.offset(s), i),
                          0.5 * sum[place + i])
                    << "segment " << s << " element " << i;
        });
    }

    collectives::Layout layout;
    size_t count = 0;
    std::vector<std::vector<collectives::Worker>> workers;
    std::vector<SparseState> states;
    std::vector<double> sum;
};

TEST(Dense, AllElementTypesAndWeightedMembersAreSummedInF32) {
    const std::vector<collectives::Layout> layouts = {
        collectives::Layout(
            {{DType::f16, 2001}, {DType::f64, 30}, {DType::bf16, 9}, {DType::f32, 40}}),
        collectives::Layout({{DType::f32, 33}, {DType::f32, 0}, {DType::f32, 4000}}),
        collectives::Layout({{DType::f64, 1500}}),
        collectives::Layout({{DType::f16, 5}}),
    };
    kernels::WorkerPool pool(2);
    for (const collectives::Layout& layout : layouts)
        for (const size_t nodes : {1U, 3U}) {
            MixedDense mixed(layout, nodes);
            std::vector<collectives::LocalPart> parts;
            for (const auto& members : mixed.workers)
                parts.push_back(collectives::local_part(layout, members));
            std::vector<Report> reports(nodes);
            std::vector<std::vector<std::byte>> results(
                nodes, std::vector<std::byte>(layout.bytes(), std::byte{0xAB}));
            const Options options = dense_options();
            collectives::TestCluster cluster(nodes);
            for (size_t w = 0; w < nodes; ++w)
                cluster.start(
                    w, reporting(sparse_all_reduce(cluster.communicator(w), parts[w], 0.5,
                                                   results[w], mixed.states[w], options, pool),
                                 reports[w]));
            cluster.run_well();
            for (size_t w = 0; w < nodes; ++w) {
                ASSERT_TRUE(results[w] == results[0]);
                mixed.states[w].commit();
                for (const float value : mixed.states[w].residual().values())
                    ASSERT_EQ(value, 0.0F);
            }
            mixed.expect_half_the_sum(results[0]);
        }
}

TEST(Dense, ANodeThatDoesNotContributeKeepsWhatItOwes) {
    const collectives::Layout layout = layout_of(3000);
    for (const size_t nodes : {1U, 3U}) {
        const auto gradients = gradients_of(nodes, 3000, 7);
        std::vector<bool> contributes(nodes, true);
        contributes[0] = false;
        kernels::WorkerPool pool(0);
        std::vector<collectives::LocalPart> parts;
        std::vector<SparseState> states(nodes, SparseState(3000));
        std::vector<Report> reports(nodes);
        std::vector<std::vector<std::byte>> results(nodes, std::vector<std::byte>(layout.bytes()));
        for (const Vector& gradient : gradients) parts.push_back(part_of(layout, gradient));
        const Options options = dense_options();
        collectives::TestCluster cluster(nodes, std::nullopt, contributes);
        for (size_t w = 0; w < nodes; ++w)
            cluster.start(w, reporting(sparse_all_reduce(cluster.communicator(w), parts[w], 1.0,
                                                         results[w], states[w], options, pool),
                                       reports[w]));
        cluster.run_well();
        const Vector result = unpacked(layout, results[0]);
        states[0].commit();
        for (size_t i = 0; i < 3000; ++i) {
            float sum = 0;
            for (size_t w = 1; w < nodes; ++w) sum += gradients[w][i];
            ASSERT_EQ(result[i], sum);
            ASSERT_EQ(states[0].residual().values()[i], gradients[0][i]);
        }
    }
}

}  // namespace
}  // namespace pace::sparse
