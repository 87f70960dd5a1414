#include "daemon/sparse/algorithms/spar_dl.h"

#include <bit>
#include <functional>
#include <limits>
#include <mutex>

#include <gtest/gtest.h>

#include "daemon/collectives/tests/test_data.h"
#include "daemon/sparse/algorithms/team_gather.h"
#include "daemon/sparse/tests/reference.h"
#include "daemon/sparse/tests/test_run.h"

namespace pace::sparse {
namespace {

class SparDLAmong : public testing::TestWithParam<size_t> {};
INSTANTIATE_TEST_SUITE_P(Workers, SparDLAmong, testing::Range(size_t{1}, size_t{18}));

// Returns what the second B-SAG exchange of a cluster sends, by position.
std::vector<size_t> first_h(const Division& division, size_t teams) {
    std::vector<size_t> h;
    for (size_t i = 0; i < division.blocks(); ++i)
        h.push_back(CompressionRatio(division.block(i).k, teams).h());
    return h;
}

// Compares three exchanges with the reference. The residual of each exchange goes into the next.
void expect_reference(size_t P, size_t count, const Options& options,
                      std::optional<uint64_t> seed) {
    SCOPED_TRACE(fmt::format("P {} d {} n {} gather {} mode {}", P, options.teams, count,
                             static_cast<int>(options.gather),
                             static_cast<int>(options.residuals)));
    const bool recursive =
        is_recursive(options.gather, options.residuals, options.format.value, options.teams);
    const Division division(count, P / options.teams, options.density);
    std::vector<CompressionRatio> ratios;
    for (size_t i = 0; i < division.blocks(); ++i)
        ratios.emplace_back(division.block(i).k, options.teams);
    std::vector<size_t> h = first_h(division, options.teams);

    SparseCluster cluster(P, count);
    std::vector<Vector> residuals(P, Vector(count, 0.0F));
    for (uint64_t iteration = 0; iteration < 3; ++iteration) {
        const std::vector<Vector> gradients = gradients_of(P, count, iteration + 7 * count);
        std::vector<Vector> G = gradients;
        for (size_t w = 0; w < P; ++w)
            for (size_t i = 0; i < count; ++i) G[w][i] += residuals[w][i];
        const Reference expected =
            ReferenceSparDL(G, options.density, options.teams, recursive, h, options.residuals)
                .run();
        residuals = expected.residuals;
        const Vector result = cluster.exchange(options, gradients, seed);
        for (size_t i = 0; i < count; ++i) {
            const auto found = expected.total.find(i);
            ASSERT_EQ(result[i], found == expected.total.end() ? 0.0F : found->second)
                << "element " << i << ", iteration " << iteration;
        }
        for (size_t w = 0; w < P; ++w)
            ASSERT_EQ(cluster.residual(w), residuals[w])
                << "worker " << w << ", iteration " << iteration;
        for (size_t i = 0; i < expected.N.size(); ++i) {
            ratios[i].adjust(expected.N[i]);
            h[i] = ratios[i].h();
        }
    }
}

TEST_P(SparDLAmong, EqualsThePaperForEveryNumberOfTeamsAndLosesNothing) {
    const size_t P = GetParam();
    for (size_t teams = 1; teams <= P; ++teams) {
        if (P % teams != 0) continue;
        for (const TeamGather gather : {TeamGather::bruck, TeamGather::recursive}) {
            if (gather == TeamGather::recursive && !std::has_single_bit(teams)) continue;
            for (const ResidualMode mode :
                 {ResidualMode::global, ResidualMode::partial, ResidualMode::local}) {
                Options options;
                options.teams = teams;
                options.density = 0.06;
                options.gather = gather;
                options.residuals = mode;
                expect_reference(P, 211, options, std::nullopt);
                if (mode != ResidualMode::global) continue;
                expect_reference(P, 211, options, teams + 1);
                options.format = {IndexFormat::plain, ValueFormat::f32};
                expect_reference(P, 64 * P, options, std::nullopt);
            }
        }
    }
}

TEST_P(SparDLAmong, FewElementsManyAndNoneAreExchangedToo) {
    const size_t P = GetParam();
    for (const size_t count : {0U, 1U, 2U, 5U, 16U, 40U})
        for (size_t teams = 1; teams <= P; ++teams) {
            if (P % teams != 0) continue;
            for (const double density : {1e-6, 0.3, 1.0}) {
                Options options;
                options.teams = teams;
                options.density = density;
                expect_reference(P, count, options, 3);
            }
        }
}

// Σ final + Σ residual = Σ gradient + Σ old residual, exactly, exchange after exchange.
TEST_P(SparDLAmong, NothingIsLostInAnyFormat) {
    const size_t P = GetParam();
    for (const ValueFormat value : {ValueFormat::f32, ValueFormat::f16, ValueFormat::bf16})
        for (size_t teams = 1; teams <= P; ++teams) {
            if (P % teams != 0) continue;
            Options options;
            options.teams = teams;
            options.density = 0.1;
            options.format = {IndexFormat::elias_fano, value};
            SparseCluster cluster(P, 150);
            for (uint64_t iteration = 0; iteration < 4; ++iteration) {
                // Numbers that are too long for both half formats, so every step rounds.
                const auto gradients = gradients_of(P, 150, iteration, 20000);
                const std::vector<double> before = cluster.owed(gradients);
                const Vector result = cluster.exchange(options, gradients);
                const std::vector<double> after = cluster.owed({result});
                for (size_t i = 0; i < before.size(); ++i)
                    ASSERT_EQ(before[i], after[i])
                        << "P " << P << " teams " << teams << " element " << i << " iteration "
                        << iteration << " format " << static_cast<int>(value);
            }
        }
}

TEST(SparDL, DensityOneIsTheDenseSum) {
    for (const size_t teams : {1U, 2U, 3U, 6U}) {
        Options options;
        options.density = 1.0;
        options.teams = teams;
        SparseCluster cluster(6, 100);
        const auto gradients = gradients_of(6, 100, 3);
        // B-SAG begins with a share of the entries.
        if (teams == 3 || teams == 6) continue;
        const Vector result = cluster.exchange(options, gradients);
        for (size_t i = 0; i < 100; ++i) {
            float sum = 0;
            for (const Vector& gradient : gradients) sum += gradient[i];
            EXPECT_EQ(result[i], sum);
        }
    }
}

TEST(SparDL, TheResultIsScaledAndTheResidualIsNot) {
    Options options;
    options.density = 0.05;
    SparseCluster a(4, 100);
    SparseCluster b(4, 100);
    const auto gradients = gradients_of(4, 100, 9);
    const Vector sum = a.exchange(options, gradients);
    const Vector mean = b.exchange(options, gradients, std::nullopt, 0.25);
    for (size_t i = 0; i < 100; ++i) EXPECT_EQ(mean[i], sum[i] * 0.25F);
    for (size_t w = 0; w < 4; ++w) EXPECT_EQ(a.residual(w), b.residual(w));
}

TEST(SparDL, ABrokenGradientShowsItselfToAll) {
    Options options;
    options.density = 0.02;
    SparseCluster cluster(5, 500);
    auto gradients = gradients_of(5, 500, 2);
    gradients[3][123] = std::numeric_limits<float>::quiet_NaN();
    gradients[1][400] = std::numeric_limits<float>::infinity();
    const Vector result = cluster.exchange(options, gradients);
    EXPECT_TRUE(std::isnan(result[123]));
    EXPECT_TRUE(std::isinf(result[400]));
    for (size_t w = 0; w < 5; ++w)
        for (const float value : cluster.residual(w)) EXPECT_TRUE(std::isfinite(value));
}

TEST(SparDL, ChangedMembershipBeginsAnewWhatAdapts) {
    Options options;
    options.teams = 3;
    options.density = 0.1;
    SparseCluster cluster(6, 600);
    for (uint64_t i = 0; i < 3; ++i) cluster.exchange(options, gradients_of(6, 600, i));
    const size_t adapted = cluster.report(0).h;
    // Worker 2 is replaced. With the old view, its h would differ from its peers' h.
    cluster.state(2) = SparseState(600);
    options.view = 1;
    cluster.exchange(options, gradients_of(6, 600, 9));
    EXPECT_NE(cluster.report(0).h, 0U);
    EXPECT_LE(cluster.report(0).h, adapted);
}

TEST(SparDL, AnExchangeThatIsUndoneLeavesTheStateAsItWas) {
    const collectives::Layout layout = layout_of(50);
    kernels::WorkerPool pool(0);
    const Vector gradient = whole_numbers(50, 1);
    const collectives::LocalPart part = part_of(layout, gradient);
    SparseState state(50);
    std::vector<std::byte> result(layout.bytes());
    Options options;
    collectives::TestCluster cluster(1);
    Report report;
    cluster.start(0, reporting(sparse_all_reduce(cluster.communicator(0), part, 1.0, result, state,
                                                 options, pool),
                               report));
    cluster.run_well();
    EXPECT_TRUE(state.residual().begun());
    state.discard();
    for (const float value : state.residual().values()) EXPECT_EQ(value, 0.0F);
}

// Work runs in another thread. A callback tells its end with the next delivery.
// What a pool has posted, until it is run.
class Posted {
  public:
    kernels::WorkerPool::Post post() {
        return [this](kernels::WorkerPool::Callback callback) {
            const std::lock_guard lock(mutex_);
            callbacks_.push_back(std::move(callback));
        };
    }
    void run() {
        std::vector<std::function<void()>> now;
        {
            const std::lock_guard lock(mutex_);
            now.swap(callbacks_);
        }
        for (const auto& callback : now) callback();
    }

  private:
    std::mutex mutex_;
    std::vector<std::function<void()>> callbacks_;
};

TEST(SparDL, WorkAsideChangesNothing) {
    const size_t count = 40000;  // enough to run aside
    for (const Algorithm algorithm : {Algorithm::spar_dl, Algorithm::topk_a, Algorithm::topk_dsa,
                                      Algorithm::g_topk, Algorithm::ok_topk, Algorithm::dense}) {
        Options options;
        options.algorithm = algorithm;
        options.teams = algorithm == Algorithm::spar_dl ? 2 : 1;
        const auto gradients = gradients_of(6, count, 4, 100000);
        SparseCluster inline_cluster(6, count);
        const Vector expected = inline_cluster.exchange(options, gradients);

        const collectives::Layout layout = layout_of(count);
        Posted posted;
        kernels::WorkerPool pool(2);
        std::vector<SparseState> states(6, SparseState(count));
        std::vector<Report> reports(6);
        std::vector<std::vector<std::byte>> results(6, std::vector<std::byte>(layout.bytes()));
        std::vector<collectives::LocalPart> parts;
        for (const Vector& gradient : gradients) parts.push_back(part_of(layout, gradient));
        collectives::TestCluster cluster(6);
        for (size_t w = 0; w < 6; ++w)
            cluster.start(
                w, reporting(sparse_all_reduce(cluster.communicator(w), parts[w], 1.0, results[w],
                                               states[w], options, pool, posted.post()),
                             reports[w]));
        while (!cluster.all_ended()) {
            cluster.network().progress();
            posted.run();
        }
        for (size_t w = 0; w < 6; ++w) {
            ASSERT_TRUE(cluster.outcome(w).ok()) << cluster.outcome(w).error().message;
            ASSERT_EQ(unpacked(layout, results[w]), expected) << name_of(algorithm);
            states[w].commit();
            const auto values = states[w].residual().values();
            ASSERT_EQ(Vector(values.begin(), values.end()), inline_cluster.residual(w));
        }
    }
}

// Buffers of every type and several members. Whole numbers are exact in all types.
TEST(SparDL, AllElementTypesAndWeightedMembersAreSummed) {
    using protocol::DType;
    const collectives::Layout layout(
        {{DType::f16, 21}, {DType::f64, 30}, {DType::bf16, 9}, {DType::f32, 40}});
    const size_t count = 100;
    kernels::WorkerPool pool(2);
    Options options;
    options.density = 1.0;
    collectives::TestCluster cluster(3);
    std::vector<std::vector<collectives::Worker>> members(3);
    std::vector<collectives::LocalPart> parts;
    Vector expected(count, 0.0F);
    for (size_t w = 0; w < 3; ++w) {
        for (const double weight : {1.0, 2.0}) {
            const Vector values = whole_numbers(count, 10 * w + members[w].size(), 20);
            members[w].push_back(
                collectives::make_worker(layout, weight, [&](size_t i) { return values[i]; }));
            for (size_t i = 0; i < count; ++i)
                expected[i] += values[i] * static_cast<float>(weight);
        }
        parts.push_back(collectives::local_part(layout, members[w]));
    }
    std::vector<SparseState> states(3, SparseState(count));
    std::vector<Report> reports(3);
    std::vector<std::vector<std::byte>> results(3, std::vector<std::byte>(layout.bytes()));
    for (size_t w = 0; w < 3; ++w)
        cluster.start(w, reporting(sparse_all_reduce(cluster.communicator(w), parts[w], 1.0,
                                                     results[w], states[w], options, pool),
                                   reports[w]));
    cluster.run_well();
    EXPECT_TRUE(results[0] == results[1] && results[1] == results[2]);
    Packed(layout).for_each(0, count, [&](size_t s, size_t, size_t n, size_t place) {
        for (size_t i = 0; i < n; ++i)
            EXPECT_EQ(collectives::read_value(layout.segments()[s].dtype,
                                              results[0].data() + layout.offset(s), i),
                      static_cast<double>(expected[place + i]))
                << "element " << place + i;
    });
}

TEST(SparDL, OptionsThatMakeNoSenseAreRefused) {
    const auto refused = [](Options options, size_t nodes) {
        const base::Result<> checked = check(options, nodes);
        return !checked && checked.error().kind == base::ErrorKind::invalid;
    };
    Options options;
    EXPECT_FALSE(refused(options, 6));
    for (const double density : {0.0, -1.0, 1.1, std::nan("")}) {
        options.density = density;
        EXPECT_TRUE(refused(options, 6));
    }
    options.density = 0.01;
    options.teams = 4;
    EXPECT_TRUE(refused(options, 6));
    options.teams = 3;
    EXPECT_FALSE(refused(options, 6));
    options.gather = TeamGather::recursive;
    EXPECT_TRUE(refused(options, 6));

    collectives::TestCluster cluster(1);
    kernels::WorkerPool pool(0);
    const collectives::Layout layout = layout_of(10);
    const Vector gradient(10, 1.0F);
    const collectives::LocalPart part = part_of(layout, gradient);
    std::vector<std::byte> result(layout.bytes());
    SparseState other(11);
    Report report;
    cluster.start(0, reporting(sparse_all_reduce(cluster.communicator(0), part, 1.0, result, other,
                                                 Options(), pool),
                               report));
    EXPECT_EQ(cluster.outcome(0).error().kind, base::ErrorKind::invalid);
}

}  // namespace
}  // namespace pace::sparse
