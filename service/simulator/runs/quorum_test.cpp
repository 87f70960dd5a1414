#include "service/simulator/runs/quorum.h"

#include <gtest/gtest.h>

#include "service/simulator/model/scenario_fixture.h"

namespace pace::simulator {
namespace {

using controller::Quorum;

// Steps take 100 ms, except the last worker's 500 ms. An exchange of all takes 17 ms.
Scenario with_one_slow() {
    Scenario scenario = even_cluster(4, 1);
    scenario.workers.back().slow = 5;
    scenario.steps = 400;
    return scenario;
}

Outcome outcome_of(const Scenario& scenario, Quorum quorum, uint32_t count = 0) {
    Candidate candidate;
    candidate.quorum = quorum;
    candidate.quorum_count = count;
    return run_quorum(scenario, candidate);
}

// The three fast workers begin a round every 117 ms. The slow worker finds four or five ended
// rounds whenever it calls. It gets them at once and waits for nobody.
TEST(Quorum, OfTheFastLetsTheSlowOneComputeOnly) {
    const Outcome outcome = outcome_of(with_one_slow(), Quorum::count, 3);
    EXPECT_DOUBLE_EQ(outcome.update_median_s, 0.117);
    EXPECT_DOUBLE_EQ(outcome.update_slowest_s, 0.5);
    EXPECT_NEAR(outcome.updates_per_s, 3 / 0.117 + 2, 0.1);
    EXPECT_EQ(outcome.waiting_share, 0);
    EXPECT_EQ(outcome.rho, 0);
    EXPECT_EQ(outcome.conflicts, 0U);
}

// The slow worker's gradient of 500 ms counts in the round after those that it has missed. It
// misses 500 / 117 rounds. One of 3 * 500 / 117 + 1 updates is the slow worker's.
TEST(Quorum, TheSlowOnesGradientsAreAsLateAsTheRoundsThatTheyMiss) {
    const Outcome outcome = outcome_of(with_one_slow(), Quorum::count, 3);
    const double rounds = 500.0 / 117;
    EXPECT_NEAR(outcome.staleness, rounds / (3 * rounds + 1), 0.01);
    EXPECT_GT(outcome.spread, 0);
}

TEST(Quorum, OfAllIsAllReduce) {
    const Outcome outcome = outcome_of(with_one_slow(), Quorum::count, 4);
    EXPECT_DOUBLE_EQ(outcome.update_median_s, 0.517);
    EXPECT_NEAR(outcome.waiting_share, 3 * 0.4 / (4 * 0.517), 1e-9);
    EXPECT_EQ(outcome.staleness, 0);
    EXPECT_NEAR(outcome.spread, 0, 1e-12);
}

// Four workers call at one time. The first begins the round with its gradient. The gradients of the
// other three count in the next round.
TEST(Quorum, SoloBeginsWithTheFirst) {
    const Outcome outcome = outcome_of(even_cluster(4, 1), Quorum::solo);
    EXPECT_DOUBLE_EQ(outcome.update_median_s, 0.117);
    EXPECT_DOUBLE_EQ(outcome.update_slowest_s, 0.117);
    EXPECT_NEAR(outcome.staleness, 0.75, 1e-9);
}

// One drawn worker begins each round. So a quarter of the rounds wait for the slow worker, if it is
// not there yet.
TEST(Quorum, MajorityIsBetweenSoloAndAll) {
    const double solo = outcome_of(with_one_slow(), Quorum::solo).updates_per_s;
    const double drawn = outcome_of(with_one_slow(), Quorum::majority).updates_per_s;
    const double all = outcome_of(with_one_slow(), Quorum::count, 4).updates_per_s;
    EXPECT_LT(drawn, solo);
    EXPECT_GT(drawn, 1.2 * all);
}

TEST(Quorum, MajorityStrictIsHalfOfThem) {
    const Outcome half = outcome_of(with_one_slow(), Quorum::count, 2);
    EXPECT_EQ(outcome_of(with_one_slow(), Quorum::majority_strict).updates_per_s,
              half.updates_per_s);
}

// No gradient may be two rounds late, so every second round waits for the slow worker.
TEST(Quorum, WaitsForWhoeverWouldComeTooLate) {
    Scenario scenario = with_one_slow();
    scenario.options.staleness_max = 1;
    const Outcome outcome = outcome_of(scenario, Quorum::count, 3);
    EXPECT_GT(outcome.update_median_s, 0.2);
    EXPECT_LE(outcome.staleness, 1);
    EXPECT_GT(outcome.waiting_share, 0.2);
}

// Four nodes tell each other in 2 * 2 messages that the quorum is complete. The exchange has two
// more messages.
TEST(Quorum, NodesTellEachOther) {
    Scenario scenario = even_cluster(4, 1);
    scenario.latency_s = 0.001;
    EXPECT_DOUBLE_EQ(outcome_of(scenario, Quorum::count, 4).update_median_s, 0.123);
}

}  // namespace
}  // namespace pace::simulator
