#include "daemon/sparse/algorithms/cost_model.h"

#include <bit>
#include <cmath>

#include <gtest/gtest.h>

#include "daemon/sparse/tests/test_run.h"
#include "daemon/sparse/wire/division.h"

namespace pace::sparse {
namespace {

// The papers' format. An entry is two words.
constexpr WireFormat kPlain{IndexFormat::plain, ValueFormat::f32};

// Reports what each worker sent and received. The gradients have no zeros and few equal indices.
std::vector<Report> reports_of(size_t P, size_t n, const Options& options) {
    SparseCluster cluster(P, n);
    auto gradients = gradients_of(P, n, 4, 1000000);
    for (Vector& gradient : gradients)
        for (float& value : gradient)
            if (value == 0) value = 1;
    (void)cluster.exchange(options, gradients);
    std::vector<Report> reports;
    for (size_t w = 0; w < P; ++w) reports.push_back(cluster.report(w));
    return reports;
}

// Equations (3) and (5) of the paper, for every P and every d that is a power of two. They give
// 2⌈log2(P/d)⌉ + log2 d messages and 2k((2P - 2d)/P + d/P · log2 d) words. A count goes with each
// block. With global residuals, more than two teams wait for each other with log2 d messages of d -
// 1 bytes together. The paper does not have these messages.
void expect_paper(ResidualMode mode) {
    for (size_t P = 1; P <= 17; ++P)
        for (size_t d = 1; d <= P; d *= 2) {
            if (P % d != 0) continue;
            const bool wait = mode == ResidualMode::global && d > 2;
            const size_t n = 100 * P;
            const size_t k = 10 * P;
            Options options;
            options.density = 0.1;
            options.teams = d;
            options.gather = TeamGather::recursive;
            options.residuals = mode;
            options.format = kPlain;
            const size_t Q = P / d;
            const auto log_d = static_cast<size_t>(std::countr_zero(d));
            const size_t messages = 2 * steps_of(Q) + (wait ? 2 : 1) * log_d;
            const size_t blocks = 2 * (Q - 1) + log_d;
            const double words = 2 * static_cast<double>(k) *
                                 ((2.0 * static_cast<double>(P) - 2.0 * static_cast<double>(d)) +
                                  static_cast<double>(d * log_d)) /
                                 static_cast<double>(P);
            for (const Report& report : reports_of(P, n, options)) {
                EXPECT_EQ(report.messages_sent, messages) << P << " " << d;
                EXPECT_EQ(report.messages_received, report.messages_sent);
                EXPECT_EQ(static_cast<double>(report.bytes_received),
                          4 * words + static_cast<double>(kCountBytes * blocks) +
                              static_cast<double>(wait ? d - 1 : 0))
                    << P << " " << d;
                EXPECT_EQ(report.bytes_sent, report.bytes_received);
            }
            const Cost cost = spar_dl_cost({P, n, k, kPlain, mode}, d, TeamGather::recursive);
            EXPECT_EQ(cost.messages, static_cast<double>(messages));
            EXPECT_NEAR(cost.bytes, 4 * words, 1e-6 * words);
        }
}

TEST(Cost, SparDLSendsWhatThePaperSays) {
    expect_paper(ResidualMode::local);
    expect_paper(ResidualMode::global);
}

// Equation (7): ⌈log2 d⌉ messages between the teams, and a number of words within its bounds.
TEST(Cost, SparDLWithBSagStaysWithinThePapersBounds) {
    for (size_t P = 2; P <= 17; ++P)
        for (size_t d = 2; d <= P; ++d) {
            if (P % d != 0) continue;
            const size_t k = 10 * P;
            Options options;
            options.density = 0.1;
            options.teams = d;
            options.gather = TeamGather::bruck;
            options.format = kPlain;
            const auto Pf = static_cast<double>(P);
            const auto df = static_cast<double>(d);
            const auto kf = static_cast<double>(k);
            const double counts = kCountBytes * (2.0 * (Pf / df - 1) + df - 1);
            const double least = 4 * 2 * kf * (df * df + Pf - 2 * df) / (Pf * df);
            const double most = 4 * 2 * kf * (df * df + 2 * Pf - 3 * df) / Pf;
            for (const Report& report : reports_of(P, 100 * P, options)) {
                EXPECT_EQ(report.messages_sent, 2 * steps_of(P / d) + steps_of(d));
                EXPECT_GE(static_cast<double>(report.bytes_received), least);
                EXPECT_LE(static_cast<double>(report.bytes_received), most + counts);
            }
            const Cost cost = spar_dl_cost({P, 100 * P, k, kPlain}, d, TeamGather::bruck);
            EXPECT_GE(cost.bytes, least);
            EXPECT_LE(cost.bytes, most);
        }
}

TEST(Cost, RivalsSendWhatTable1Says) {
    for (const size_t P : {2U, 4U, 8U, 16U}) {
        const size_t n = 1000 * P;
        const size_t k = 10 * P;
        const auto kf = static_cast<double>(k);
        const auto Pf = static_cast<double>(P);
        const size_t log_p = steps_of(P);
        Options options;
        options.density = 0.01;
        options.format = kPlain;

        options.algorithm = Algorithm::topk_a;
        for (const Report& report : reports_of(P, n, options)) {
            EXPECT_EQ(report.messages_sent, log_p);
            EXPECT_EQ(report.bytes_received, (P - 1) * (8 * k + kCountBytes));
        }

        // The longest path is the root's: 2 log P steps of 2k words.
        options.algorithm = Algorithm::g_topk;
        const auto g_topk = reports_of(P, n, options);
        EXPECT_EQ(g_topk[0].messages_sent + g_topk[0].messages_received, 2 * log_p);
        EXPECT_EQ(g_topk[0].bytes_sent + g_topk[0].bytes_received,
                  2 * log_p * (8 * k + kCountBytes));

        // P - 1 parts go straight to their owners, each after its length. Then come the sizes and
        // the all-gather.
        options.algorithm = Algorithm::topk_dsa;
        const double lengths = 8.0 * (Pf - 1) * 2 + 6.0 * 2 * Pf;
        double most = 0;
        for (const Report& report : reports_of(P, n, options)) {
            EXPECT_EQ(report.messages_sent, 2 * (P - 1) + 2 * log_p);
            most = std::max(most, static_cast<double>(report.bytes_received));
        }
        // A worker receives more than the mean if more entries fall into its range.
        EXPECT_LE(most, 4 * 1.5 * (Pf - 1) / Pf * (2 * kf + static_cast<double>(n)) + lengths);
        EXPECT_GE(most, 0.9 * 4 * 4 * (Pf - 1) / Pf * kf);
    }
}

TEST(Cost, CompressedEntriesTakeAtMostHalfOfThePapersBytes) {
    Options options;
    options.density = 0.01;
    options.format = {IndexFormat::elias_fano, ValueFormat::f16};
    const size_t n = 60000;
    const auto compressed = reports_of(6, n, options);
    options.format = kPlain;
    const auto plain = reports_of(6, n, options);
    for (size_t w = 0; w < 6; ++w) EXPECT_LE(2 * compressed[w].bytes_sent, plain[w].bytes_sent);
}

TEST(Cost, TeamsAreChosenByLatencyAndBandwidth) {
    const Problem problem{16, 1000000, 10000, kPlain};
    // If only messages cost, each team has one worker. If only bytes cost, there is one team.
    EXPECT_EQ(best_teams(problem, TeamGather::automatic, {1, 0}), 16U);
    EXPECT_EQ(best_teams(problem, TeamGather::automatic, {0, 1}), 1U);
    EXPECT_EQ(best_teams(problem, TeamGather::automatic, {1e-4, 1e-9}), 8U);
    const Problem seven{7, 1000000, 10000, kPlain};
    EXPECT_EQ(best_teams(seven, TeamGather::automatic, {1, 0}), 7U);
    EXPECT_EQ(best_teams(seven, TeamGather::recursive, {1, 0}), 1U);
    EXPECT_EQ(best_teams({1, 10, 1, kPlain}, TeamGather::automatic, {1, 1}), 1U);

    Options options;
    options.teams = 0;
    options.link = {1, 0};
    EXPECT_EQ(reports_of(8, 800, options)[3].teams, 8U);
}

TEST(Cost, DenseIsChosenWhereItIsFasterAndSaidWhy) {
    const WireFormat format;
    // VGG-16 at 1 % over 1 Gbit/s is better sparse. At full density, or over 100 Gbit/s, it is
    // better dense.
    const DenseChoice sparse = should_go_dense({6, 14728266, 147283, format}, {50e-6, 8.5e-9});
    EXPECT_FALSE(sparse.dense) << sparse.reason;
    EXPECT_NE(sparse.reason.find("sparse is expected to be faster"), std::string::npos);
    const DenseChoice full = should_go_dense({6, 14728266, 14728266, format}, {50e-6, 8.5e-9});
    EXPECT_TRUE(full.dense) << full.reason;
    EXPECT_TRUE(should_go_dense({6, 14728266, 147283, format}, {5e-6, 8e-11}).dense);
    // A small vector is better dense, because dense takes fewer hops.
    EXPECT_TRUE(should_go_dense({6, 100, 1, format}, {50e-6, 8.5e-9}).dense);
    EXPECT_TRUE(should_go_dense({1, 100, 1, format}, {50e-6, 8.5e-9}).dense);
}

}  // namespace
}  // namespace pace::sparse
