// Partial tests: reductions that do not wait for the slow. The tests check who starts a round, what
// the fast and the late workers get, and what they are told.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/cluster/harness/crew.h"

namespace pace::cluster {
namespace {

// Placements of workers on nodes: one node, several nodes, more workers than nodes, uneven
// placements.
struct Placement {
    size_t nodes;
    std::vector<size_t> of_worker;
};
const std::vector<Placement>& places_of_four() {
    static const std::vector<Placement> places = {{1, {0, 0, 0, 0}},
                                                  {2, {0, 1, 0, 1}},
                                                  {2, {1, 1, 1, 0}},
                                                  {3, {0, 1, 1, 2}},
                                                  {4, {3, 2, 1, 0}}};
    return places;
}

TEST(Partial, SoloWaitsForNobody) {
    for (const size_t nodes : {1U, 3U}) {
        Cluster cluster({.nodes = nodes});
        Crew crew(cluster, {.nodes = in_turn(3, nodes), .tune = solo});
        crew.barrier();
        for (int round = 0; round < 5; ++round) {
            EXPECT_EQ(crew.reduce(1, 7), 7);
            const pace_request_info& info = crew.worker(1).info();
            EXPECT_EQ(info.contributor_count, 1U);
            EXPECT_EQ(info.rounds, 1U);
            EXPECT_EQ(info.late, 0U);
            EXPECT_EQ(info.divisor, 1);
            EXPECT_EQ(info.member_count, 3U);
            EXPECT_EQ(info.node_count, nodes);
            EXPECT_EQ(crew.worker(1).members()[1].weight, 1);
            EXPECT_EQ(crew.worker(1).members()[0].weight, 0);
        }
    }
}

// No reduce comes before. So the other nodes do not even know the buffers' sizes and types.
TEST(Partial, ANodeWhoseWorkersHaveNotCalledTakesPartInRoundsOfAnySize) {
    for (const uint64_t elements : {1U, 1000U, 300000U}) {
        Cluster cluster({.nodes = 3});
        Crew crew(cluster, {.nodes = {2, 0, 1, 0}, .tune = solo, .elements = elements});
        for (const double gradient : {1, 2, 4}) EXPECT_EQ(crew.reduce(2, gradient), gradient);
        crew.barrier();  // all nodes have the results
        EXPECT_EQ(crew.reduce(0, 8), 7);
        EXPECT_EQ(crew.worker(0).info().rounds, 3U);
        EXPECT_EQ(crew.reduce(3, 16), 7);
        crew.barrier();
        EXPECT_EQ(crew.reduce(2, 32), 56);
    }
}

TEST(Partial, ALateWorkerGetsWhatItMissedAndItsGradientCountsInTheNextRound) {
    Cluster cluster({.nodes = 2});
    Crew crew(cluster, {.nodes = {0, 1}, .tune = solo});
    crew.barrier();
    for (const double gradient : {1, 2, 4}) crew.reduce(0, gradient);
    crew.barrier();  // worker 1's node has the results, too
    EXPECT_EQ(crew.reduce(1, 100), 7);
    EXPECT_EQ(crew.worker(1).info().rounds, 3U);
    EXPECT_EQ(crew.worker(1).info().late, 1U);
    EXPECT_EQ(crew.reduce(0, 8), 108);
    EXPECT_EQ(crew.worker(0).info().contributor_count, 2U);
    EXPECT_EQ(crew.worker(0).members()[1].staleness, 4U);
    EXPECT_EQ(crew.worker(0).members()[0].staleness, 0U);
    EXPECT_EQ(crew.reduce(1, 16), 108);
    EXPECT_EQ(crew.worker(1).info().rounds, 1U);
}

TEST(Partial, AQuorumIsWaitedForWhereverItsWorkersAre) {
    for (const Placement& place : places_of_four()) {
        Cluster cluster({.nodes = place.nodes});
        for (const uint32_t quorum : {1U, 2U, 3U, 4U}) {
            Crew crew(cluster, {.nodes = place.of_worker,
                                .tune = quorum_of(quorum),
                                .job = "quorum-" + std::to_string(quorum)});
            crew.barrier();
            std::vector<pace_request> requests;
            double sum = 0;
            for (uint32_t i = 0; i < quorum; ++i) {
                const bool is_last = i + 1 == quorum;
                if (is_last && i > 0) {
                    EXPECT_EQ(crew.worker(quorum % 4).wait(requests[0], kMomentMs), PACE_TIMEOUT);
                }
                requests.push_back(crew.call((quorum + i) % 4, i + 1));
                sum += i + 1;
            }
            for (uint32_t i = 0; i < quorum; ++i) {
                const size_t rank = (quorum + i) % 4;
                crew.worker(rank).finish(requests[i]);
                EXPECT_EQ(crew.worker(rank).info().contributor_count, quorum);
                EXPECT_EQ(crew.value(rank), sum);
            }
        }
    }
}

TEST(Partial, AStrictMajorityIsHalfOfTheWorkersOrMore) {
    for (const size_t nodes : {1U, 3U}) {
        for (const size_t world : {2U, 3U, 5U}) {
            Cluster cluster({.nodes = nodes});
            Crew crew(cluster, {.nodes = in_turn(world, nodes), .tune = majority_strict});
            crew.barrier();
            const size_t needed = (world + 1) / 2;
            std::vector<pace_request> requests;
            for (size_t rank = 0; rank + 1 < needed; ++rank) requests.push_back(crew.call(rank, 1));
            if (needed > 1) {
                EXPECT_EQ(crew.worker(0).wait(requests[0], kMomentMs), PACE_TIMEOUT);
            }
            requests.push_back(crew.call(needed - 1, 1));
            for (size_t rank = 0; rank < needed; ++rank) {
                crew.worker(rank).finish(requests[rank]);
                EXPECT_EQ(crew.value(rank), static_cast<double>(needed));
                EXPECT_EQ(crew.worker(rank).info().contributor_count, needed);
            }
        }
    }
}

// All workers but one call. The round goes on unless the missing worker was drawn to start it. In
// 60 rounds both cases happen.
TEST(Partial, AMajorityRoundWaitsForTheOneThatWasDrawn) {
    for (const size_t nodes : {1U, 3U}) {
        Cluster cluster({.nodes = nodes});
        Crew crew(cluster, {.nodes = in_turn(4, nodes), .tune = majority});
        crew.barrier();
        int waited = 0;
        for (size_t round = 0; round < 60; ++round) {
            std::vector<pace_request> requests(4);
            for (size_t i = 1; i < 4; ++i)
                requests[(round + i) % 4] = crew.call((round + i) % 4, 1);
            const size_t first = (round + 1) % 4;
            const pace_status status = crew.worker(first).wait(requests[first], kMomentMs);
            if (status != PACE_OK) {
                ++waited;
                EXPECT_EQ(status, PACE_TIMEOUT);
            }
            requests[round % 4] = crew.call(round % 4, 1);
            for (size_t rank = 0; rank < 4; ++rank)
                if (rank != first || status != PACE_OK) crew.worker(rank).finish(requests[rank]);
        }
        EXPECT_GT(waited, 0);
        EXPECT_LT(waited, 60);
    }
}

// Backup workers: a quorum of N - b. The late workers are not needed.
TEST(Partial, DroppedGradientsCountNowhere) {
    for (const size_t nodes : {1U, 2U}) {
        Cluster cluster({.nodes = nodes});
        const auto backup = [](AskedSession& job) {
            quorum_of(2)(job);
            job.set(PACE_OPT_QUORUM_LATE, "drop");
        };
        Crew crew(cluster, {.nodes = in_turn(3, nodes), .tune = backup});
        crew.barrier();
        for (int round = 0; round < 3; ++round) {
            const pace_request request = crew.call(0, 1);
            EXPECT_EQ(crew.reduce(1, 2), 3);
            crew.worker(0).finish(request);
        }
        EXPECT_EQ(crew.reduce(2, 100), 9);
        EXPECT_EQ(crew.worker(2).info().late, 1U);
        EXPECT_EQ(crew.worker(2).info().rounds, 3U);
        // Worker 2 is in time now, and its gradient counts.
        const pace_request request = crew.call(0, 1);
        EXPECT_EQ(crew.reduce(2, 4), 5);
        EXPECT_EQ(crew.worker(2).info().late, 0U);
        crew.worker(0).finish(request);
        EXPECT_EQ(crew.value(0), 5);
        EXPECT_EQ(crew.worker(0).members()[2].staleness, 0U);
    }
}

void solo_staleness_three(AskedSession& job) {
    solo(job);
    job.set(PACE_OPT_QUORUM_STALENESS_MAX, 3);
}

// Worker 1 falls behind. Worker 2, on the same node, shows how far its node has come.
TEST(Partial, AWorkerTooFarBehindIsWaitedFor) {
    for (const size_t nodes : {1U, 2U}) {
        Cluster cluster({.nodes = nodes});
        Crew crew(cluster, {.nodes = {0, nodes - 1, nodes - 1}, .tune = solo_staleness_three});
        crew.barrier();
        for (int cycle = 0; cycle < 3; ++cycle) {
            for (int round = 0; round < 3; ++round) {
                EXPECT_EQ(crew.reduce(0, 1), 1);
                EXPECT_EQ(crew.reduce(2, 0), 1);
            }
            const pace_request held = crew.call(0, 1);
            EXPECT_EQ(crew.worker(0).wait(held, kMomentMs), PACE_TIMEOUT);
            EXPECT_EQ(crew.reduce(1, 10), 3);
            crew.worker(0).finish(held);
            EXPECT_EQ(crew.value(0), 11);
            EXPECT_EQ(crew.worker(0).members()[1].staleness, 3U);
            EXPECT_EQ(crew.reduce(1, 0), 11);
            EXPECT_EQ(crew.reduce(2, 0), 11);
            crew.barrier();
        }
    }
}

TEST(Partial, AWorkerTooFarBehindIsNotWaitedForWhenItHasLeft) {
    for (const size_t nodes : {1U, 2U}) {
        Cluster cluster({.nodes = nodes});
        Crew crew(cluster, {.nodes = {0, nodes - 1, nodes - 1}, .tune = solo_staleness_three});
        crew.barrier();
        for (int round = 0; round < 3; ++round) {
            crew.reduce(0, 1);
            crew.reduce(2, 0);
        }
        const pace_request held = crew.call(0, 1);
        EXPECT_EQ(crew.worker(0).wait(held, kMomentMs), PACE_TIMEOUT);
        crew.leave(1);
        crew.worker(0).finish(held);
        EXPECT_EQ(crew.value(0), 1);
    }
}

TEST(Partial, AMeanIsDividedByTheWorldOrByTheContributors) {
    struct Case {
        const char* divide_by;
        double result, divisor;
    };
    Cluster cluster({.nodes = 2});
    for (const Case& one : {Case{"world", 3, 4}, Case{"contributors", 6, 2}}) {
        const auto tune = [&one](AskedSession& job) {
            quorum_of(2)(job);
            job.set(PACE_OPT_QUORUM_DIVIDE_BY, one.divide_by);
        };
        Crew crew(cluster, {.nodes = {0, 1, 1, 0},
                            .tune = tune,
                            .op = PACE_OP_MEAN,
                            .job = "divided-by-" + std::string(one.divide_by)});
        crew.barrier();
        const pace_request request = crew.call(3, 4);
        EXPECT_EQ(crew.reduce(1, 8), one.result);
        crew.worker(3).finish(request);
        EXPECT_EQ(crew.value(3), one.result);
        EXPECT_EQ(crew.worker(3).info().divisor, one.divisor);
        const std::vector<double> weights = {0, 1 / one.divisor, 0, 1 / one.divisor};
        for (size_t rank = 0; rank < 4; ++rank)
            EXPECT_EQ(crew.worker(3).members()[rank].weight, weights[rank]);
        // A worker that missed the round is told of the same round.
        EXPECT_EQ(crew.reduce(0, 0), one.result);
        EXPECT_EQ(crew.worker(0).info().divisor, one.divisor);
        EXPECT_EQ(crew.worker(0).info().contributor_count, 2U);
    }
}

// The worker's older gradient is in the round. Its new gradient came after the round had begun, and
// is therefore late.
TEST(Partial, AGradientIsLateAlsoWhereAnOlderOneOfTheWorkerIsInTime) {
    Cluster cluster({.nodes = 2});
    Crew crew(cluster, {.nodes = {0, 0, 1}, .tune = [](AskedSession& job) {
                            solo(job);
                            job.set(PACE_OPT_QUORUM_STALENESS_MAX, 3);
                        }});
    crew.barrier();
    EXPECT_EQ(crew.reduce(0, 1), 1);
    EXPECT_EQ(crew.reduce(0, 2), 2);
    EXPECT_EQ(crew.reduce(1, 4), 3);
    crew.barrier();
    // The round begins with worker 1's older gradient, and waits for worker 2.
    const pace_request first = crew.call(0, 8);
    EXPECT_EQ(crew.worker(0).wait(first, kMomentMs), PACE_TIMEOUT);
    const pace_request second = crew.call(1, 16);
    EXPECT_EQ(crew.worker(1).wait(second, kMomentMs), PACE_TIMEOUT);
    EXPECT_EQ(crew.reduce(2, 32), 3);
    crew.worker(0).finish(first);
    crew.worker(1).finish(second);
    for (const size_t rank : {0U, 1U}) EXPECT_EQ(crew.value(rank), 8 + 4 + 32);
    EXPECT_EQ(crew.worker(0).info().late, 0U);
    EXPECT_EQ(crew.worker(1).info().late, 1U);
    EXPECT_EQ(crew.reduce(0, 64), 64 + 16);
}

}  // namespace
}  // namespace pace::cluster
