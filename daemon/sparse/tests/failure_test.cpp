// Tests what happens to the survivors when a worker dies, freezes or sends nonsense, at every step.
#include <gtest/gtest.h>

#include "daemon/sparse/exchange/messages.h"
#include "daemon/sparse/tests/test_run.h"

namespace pace::sparse {
namespace {

using base::ErrorKind;

constexpr size_t kWorkers = 6;
constexpr size_t kCount = 6000;

std::vector<Options> all_options() {
    std::vector<Options> all;
    for (const Algorithm algorithm : {Algorithm::spar_dl, Algorithm::topk_a, Algorithm::topk_dsa,
                                      Algorithm::g_topk, Algorithm::ok_topk, Algorithm::dense})
        for (const size_t teams : {1U, 2U, 3U}) {
            if (algorithm != Algorithm::spar_dl && teams != 1) continue;
            Options options;
            options.algorithm = algorithm;
            options.teams = teams;
            // More than the in-memory network copies, so messages take a rendezvous.
            options.density = 0.6;
            all.push_back(options);
        }
    return all;
}

// One exchange that is under way.
struct SparseTrial : OneExchange {
    explicit SparseTrial(const Options& chosen, std::optional<uint64_t> seed = std::nullopt)
        : OneExchange(chosen, std::vector<SparseState>(kWorkers, SparseState(kCount)),
                      gradients_of(kWorkers, kCount, 1), seed) {
        start(1.0);
    }

    // Checks that every survivor has ended once: with the result, or with an error and an untouched
    // state.
    void expect_ended(size_t victim, ErrorKind expected, const std::string& what) {
        for (size_t w = 0; w < kWorkers; ++w) {
            if (w == victim) continue;
            ASSERT_EQ(cluster.ends(w), 1) << what << ", worker " << w;
            ASSERT_TRUE(cluster.communicator(w).waiting_for().empty());
            if (cluster.outcome(w)) continue;
            ASSERT_EQ(cluster.outcome(w).error().kind, expected)
                << what << ": " << cluster.outcome(w).error().message;
            states[w].commit();  // nothing to commit
            for (const float value : states[w].residual().values()) ASSERT_EQ(value, 0.0F);
        }
    }
};

TEST(SparseFailure, AKilledWorkerEndsTheExchangeOfEverySurvivorOnce) {
    for (const Options& options : all_options())
        for (const size_t victim : {0U, 4U})
            for (const std::optional<uint64_t> seed : {std::optional<uint64_t>(), {11}})
                for (size_t step = 0;; step += seed ? 7 : 1) {
                    SparseTrial trial(options, seed);
                    if (!trial.run_steps(step)) break;
                    trial.cluster.network().kill(trial.cluster.transport(victim));
                    trial.cluster.run();
                    trial.expect_ended(
                        victim, ErrorKind::unavailable,
                        fmt::format("{} d {} victim {} step {}", name_of(options.algorithm),
                                    options.teams, victim, step));
                }
}

TEST(SparseFailure, KilledBeforeTheStartMeansAnErrorForAll) {
    for (const Options& options : all_options()) {
        SparseTrial trial(options);
        trial.cluster.network().kill(trial.cluster.transport(1));
        trial.cluster.run();
        for (size_t w = 0; w < kWorkers; ++w)
            if (w != 1) {
                EXPECT_FALSE(trial.cluster.outcome(w).ok()) << name_of(options.algorithm);
            }
    }
}

TEST(SparseFailure, AFrozenWorkerIsWaitedForAndTheDeadlineEndsIt) {
    for (const Options& options : all_options())
        for (size_t step = 0;; ++step) {
            const size_t victim = 3;
            SparseTrial trial(options);
            if (!trial.run_steps(step)) break;
            trial.cluster.network().freeze(trial.cluster.transport(victim));
            trial.cluster.run();
            for (size_t w = 0; w < kWorkers; ++w) {
                if (w == victim || trial.cluster.ended(w)) continue;
                ASSERT_FALSE(trial.cluster.communicator(w).waiting_for().empty());
                trial.cluster.communicator(w).abort({ErrorKind::timeout, "progress deadline"});
                trial.cluster.transport(w).disconnect(
                    trial.cluster.communicator(w).group().nodes[victim]);
            }
            trial.cluster.run();
            trial.expect_ended(victim, ErrorKind::timeout,
                               fmt::format("{} step {}", name_of(options.algorithm), step));
        }
}

// Worker 0 is a stranger. It sends bytes without sense in the place of its first bag.
TEST(SparseFailure, BytesWithoutSenseEndTheExchangeAsCorrupt) {
    const collectives::Layout layout = layout_of(kCount);
    const Vector gradient = whole_numbers(kCount, 1);
    const collectives::LocalPart part = part_of(layout, gradient);
    std::vector<std::byte> result(layout.bytes());
    SparseState state(kCount);
    kernels::WorkerPool pool(0);
    Options options;
    options.density = 0.01;
    Report report;
    const Bytes nonsense(coded_bytes_max(options.format, {kCount / 2, kCount / 200}),
                         std::byte{0xEE});
    collectives::Operation sent;
    collectives::TestCluster cluster(2);
    cluster.communicator(0).post_send(sent, 1, slot_of(SparsePhase::reduce_scatter, 1), nonsense);
    cluster.start(1, reporting(sparse_all_reduce(cluster.communicator(1), part, 1.0, result, state,
                                                 options, pool),
                               report));
    cluster.run();
    ASSERT_TRUE(cluster.ended(1));
    EXPECT_EQ(cluster.outcome(1).error().kind, ErrorKind::corrupt);
    EXPECT_TRUE(cluster.communicator(1).aborted());
}

TEST(SparseFailure, NodesThatDisagreeAboutTheDensityAreTold) {
    const collectives::Layout layout = layout_of(kCount);
    const Vector gradient = whole_numbers(kCount, 1);
    const collectives::LocalPart part = part_of(layout, gradient);
    std::vector<std::vector<std::byte>> results(2, std::vector<std::byte>(layout.bytes()));
    std::vector<SparseState> states(2, SparseState(kCount));
    std::vector<Options> options(2);
    options[1].density = 0.02;
    kernels::WorkerPool pool(0);
    std::vector<Report> reports(2);
    collectives::TestCluster cluster(2);
    for (size_t w = 0; w < 2; ++w)
        cluster.start(w, reporting(sparse_all_reduce(cluster.communicator(w), part, 1.0, results[w],
                                                     states[w], options[w], pool),
                                   reports[w]));
    cluster.run();
    for (size_t w = 0; w < 2; ++w) EXPECT_EQ(cluster.outcome(w).error().kind, ErrorKind::mismatch);
}

}  // namespace
}  // namespace pace::sparse
