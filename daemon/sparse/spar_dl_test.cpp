#include "daemon/sparse/spar_dl.h"

#include <bit>
#include <functional>
#include <limits>
#include <mutex>

#include <gtest/gtest.h>

#include "daemon/sparse/reference.h"
#include "daemon/sparse/team_gather.h"
#include "daemon/sparse/test_run.h"

namespace pace::sparse {
namespace {

class SparDLAmong : public testing::TestWithParam<size_t> {};
INSTANTIATE_TEST_SUITE_P(Workers, SparDLAmong, testing::Range(size_t{1}, size_t{18}));

// What the second B-SAG exchange of a cluster sends, by position.
std::vector<size_t> first_h(const Division& division, size_t teams) {
    std::vector<size_t> h;
    for (size_t i = 0; i < division.blocks(); ++i)
        h.push_back(CompressionRatio(division.block(i).k, teams).h());
    return h;
}

// Three exchanges, the residual of each going into the next, beside the reference.
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
                // Too long for both half formats, so that every step rounds.
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
    // Worker 2 is replaced; with the old view its h would be another one than its peers'.
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

// A thread's work in between: its end is told by a callback that comes with the next delivery.
TEST(SparDL, WorkAsideChangesNothing) {
    const size_t count = 40000;  // enough to go aside
    for (const Algorithm algorithm : {Algorithm::spar_dl, Algorithm::topk_a, Algorithm::topk_dsa,
                                      Algorithm::g_topk, Algorithm::ok_topk, Algorithm::dense}) {
        Options options;
        options.algorithm = algorithm;
        options.teams = algorithm == Algorithm::spar_dl ? 2 : 1;
        const auto gradients = gradients_of(6, count, 4, 100000);
        SparseCluster inline_cluster(6, count);
        const Vector expected = inline_cluster.exchange(options, gradients);

        const collectives::Layout layout = layout_of(count);
        std::mutex mutex;
        std::vector<std::function<void()>> callbacks;
        kernels::WorkerPool pool(2);
        const kernels::WorkerPool::Post post = [&](kernels::WorkerPool::Callback callback) {
            const std::lock_guard lock(mutex);
            callbacks.push_back(std::move(callback));
        };
        std::vector<SparseState> states(6, SparseState(count));
        std::vector<Report> reports(6);
        std::vector<std::vector<std::byte>> results(6, std::vector<std::byte>(layout.bytes()));
        std::vector<collectives::LocalPart> parts;
        for (const Vector& gradient : gradients) parts.push_back(part_of(layout, gradient));
        collectives::TestCluster cluster(6);
        for (size_t w = 0; w < 6; ++w)
            cluster.start(
                w, reporting(sparse_all_reduce(cluster.communicator(w), parts[w], 1.0, results[w],
                                               states[w], options, pool, post),
                             reports[w]));
        while (!cluster.all_ended()) {
            cluster.network().progress();
            std::vector<std::function<void()>> now;
            {
                const std::lock_guard lock(mutex);
                now.swap(callbacks);
            }
            for (const auto& callback : now) callback();
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

// Buffers of every type and several members: whole numbers are exact in all of them.
TEST(SparDL, AllElementTypesAndWeightedMembersAreSummed) {
    using protocol::DType;
    const collectives::Layout layout(
        {{DType::f16, 21}, {DType::f64, 30}, {DType::bf16, 9}, {DType::f32, 40}});
    const size_t count = 100;
    kernels::WorkerPool pool(2);
    Options options;
    options.density = 1.0;
    collectives::TestCluster cluster(3);
    std::vector<std::vector<std::vector<std::byte>>> memory;
    std::vector<collectives::LocalPart> parts;
    Vector expected(count, 0.0F);
    for (size_t w = 0; w < 3; ++w) {
        std::vector<collectives::Member> members;
        for (size_t m = 0; m < 2; ++m) {
            const Vector values = whole_numbers(count, 10 * w + m, 20);
            collectives::Member member;
            member.weight = m == 0 ? 1.0 : 2.0;
            size_t at = 0;
            for (const collectives::Segment& segment : layout.segments()) {
                std::vector<std::byte> bytes(segment.count * protocol::size_of(segment.dtype));
                for (size_t i = 0; i < segment.count; ++i, ++at) {
                    expected[at] += values[at] * static_cast<float>(member.weight);
                    switch (segment.dtype) {
                        case DType::f32:
                            std::memcpy(&bytes[4 * i], &values[at], 4);
                            break;
                        case DType::f64: {
                            const double wide = values[at];
                            std::memcpy(&bytes[8 * i], &wide, 8);
                            break;
                        }
                        default: {
                            const uint16_t bits = segment.dtype == DType::f16
                                                      ? base::f16_from_float(values[at])
                                                      : base::bf16_from_float(values[at]);
                            std::memcpy(&bytes[2 * i], &bits, 2);
                        }
                    }
                }
                memory.push_back({std::move(bytes)});
                member.segments.push_back(memory.back()[0].data());
            }
            members.push_back(std::move(member));
        }
        parts.emplace_back(layout, std::move(members));
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
    size_t at = 0;
    for (size_t s = 0; s < layout.segments().size(); ++s) {
        const collectives::Segment segment = layout.segments()[s];
        const std::byte* from = results[0].data() + layout.offset(s);
        for (size_t i = 0; i < segment.count; ++i, ++at) {
            double value = 0;
            uint16_t bits = 0;
            float single = 0;
            if (segment.dtype == DType::f64) std::memcpy(&value, from + 8 * i, 8);
            if (segment.dtype == DType::f32) std::memcpy(&single, from + 4 * i, 4);
            if (protocol::size_of(segment.dtype) == 2) std::memcpy(&bits, from + 2 * i, 2);
            if (segment.dtype == DType::f16) single = base::float_from_f16(bits);
            if (segment.dtype == DType::bf16) single = base::float_from_bf16(bits);
            EXPECT_EQ(segment.dtype == DType::f64 ? value : static_cast<double>(single),
                      static_cast<double>(expected[at]))
                << "element " << at;
        }
    }
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
