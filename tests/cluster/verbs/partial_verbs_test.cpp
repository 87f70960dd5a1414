// Partial verb tests: calls for all members between rounds that do not wait for the slow, calls
// that do not fit, and calls that are taken back.
#include <vector>

#include <gtest/gtest.h>

#include "capi/testing/calls.h"
#include "tests/cluster/harness/crew.h"

namespace pace::cluster {
namespace {

Crew::Verb sync() {
    return [](Worker& worker) {
        pace_request request{};
        EXPECT_EQ(
            pace_sync(worker.session(), Slices(worker.buffers().data(), worker.buffers().size()),
                      worker.buffers().size(), nullptr, &request, nullptr),
            PACE_OK);
        return request;
    };
}
Crew::Verb broadcast_of(uint32_t root) {
    return [root](Worker& worker) { return worker.broadcast(root); };
}

TEST(PartialVerbs, ABarrierLeavesLateWorkersWhatTheyMissed) {
    for (const size_t nodes : {1U, 2U}) {
        Cluster cluster({.nodes = nodes});
        Crew crew(cluster, {.nodes = in_turn(2, nodes), .tune = solo});
        crew.barrier();
        for (const double gradient : {1, 2}) crew.reduce(0, gradient);
        crew.barrier();
        crew.reduce(0, 4);
        const uint64_t newest = crew.worker(0).info().round;
        crew.barrier();
        EXPECT_EQ(crew.worker(1).info().round, newest + 1);
        EXPECT_EQ(crew.reduce(1, 100), 7);
        EXPECT_EQ(crew.worker(1).info().round, newest) << "of the last sum, not of the barrier";
        EXPECT_EQ(crew.worker(1).info().rounds, 3U);
        EXPECT_EQ(crew.worker(1).info().late, 1U);
        EXPECT_EQ(crew.reduce(0, 8), 108);
    }
}

// A sync makes all models equal. So results that were missed before the sync are given to no worker
// any more.
TEST(PartialVerbs, AfterASyncOrABroadcastNobodyHasMissedAnything) {
    for (const size_t nodes : {1U, 2U}) {
        for (const bool by_sync : {true, false}) {
            Cluster cluster({.nodes = nodes});
            Crew crew(cluster, {.nodes = in_turn(3, nodes), .tune = solo});
            crew.barrier();
            for (const double gradient : {1, 2}) crew.reduce(0, gradient);
            crew.barrier();
            EXPECT_EQ(crew.reduce(1, 50), 3);
            for (size_t rank = 0; rank < 3; ++rank) crew.set(rank, static_cast<double>(3 * rank));
            crew.everyone(by_sync ? sync() : broadcast_of(2));
            for (size_t rank = 0; rank < 3; ++rank) EXPECT_EQ(crew.value(rank), by_sync ? 3 : 6);
            // Worker 2 is in time now. Worker 1's contribution is applied after the sync.
            EXPECT_EQ(crew.reduce(2, 4), 54);
            EXPECT_EQ(crew.worker(2).info().rounds, 1U);
            EXPECT_EQ(crew.worker(2).info().late, 0U);
        }
    }
}

// A worker that has finished its part waits for the others. The others go on without it.
TEST(PartialVerbs, AWorkerThatWaitsInABarrierHoldsNobodyUp) {
    const std::vector<std::pair<const char*, Crew::Tune>> quorums = {{"solo", solo},
                                                                     {"majority", majority},
                                                                     {"strict", majority_strict},
                                                                     {"two", quorum_of(2)},
                                                                     {"four", quorum_of(4)}};
    for (const size_t nodes : {1U, 3U}) {
        Cluster cluster({.nodes = nodes});
        for (const auto& [name, tune] : quorums) {
            SCOPED_TRACE(name);
            Crew crew(cluster, {.nodes = in_turn(4, nodes), .tune = tune, .job = name});
            crew.barrier();
            const pace_request finished = crew.worker(3).barrier();
            std::vector<double> models(3, 0);
            for (int round = 0; round < 40; ++round) {
                std::vector<pace_request> requests;
                for (size_t rank = 0; rank < 3; ++rank) requests.push_back(crew.call(rank, 1));
                for (size_t rank = 0; rank < 3; ++rank) {
                    crew.worker(rank).finish(requests[rank]);
                    models[rank] += crew.value(rank);
                }
            }
            EXPECT_EQ(crew.worker(3).wait(finished, 0), PACE_TIMEOUT);
            // The next worker has finished. Two workers go on.
            const pace_request next = crew.worker(0).barrier();
            for (int round = 0; round < 5; ++round) {
                const pace_request first = crew.call(1, 1);
                crew.reduce(2, 1);
                crew.worker(1).finish(first);
            }
            const pace_request first = crew.worker(1).barrier();
            crew.worker(2).finish(crew.worker(2).barrier());
            crew.worker(1).finish(first);
            crew.worker(0).finish(next);
            crew.worker(3).finish(finished);
            EXPECT_EQ(models[1], models[0]);
            EXPECT_EQ(models[2], models[0]);
        }
    }
}

TEST(PartialVerbs, WorkersThatCallDifferentVerbsForAllAreTold) {
    for (const size_t nodes : {1U, 2U}) {
        Cluster cluster({.nodes = nodes});
        Crew crew(cluster, {.nodes = in_turn(2, nodes), .tune = solo});
        crew.reduce(0, 1);
        const pace_request first = crew.worker(0).barrier();
        const pace_request second = sync()(crew.worker(1));
        EXPECT_EQ(crew.worker(0).wait(first), PACE_E_MISMATCH) << crew.worker(0).complaint();
        EXPECT_EQ(crew.worker(1).wait(second), PACE_E_MISMATCH) << crew.worker(1).complaint();
        crew.reduce(0, 2);
        crew.barrier();
        EXPECT_EQ(crew.reduce(1, 4), 3);
    }
}

TEST(PartialVerbs, AReduceThatIsTakenBackCountsNowhere) {
    for (const size_t nodes : {1U, 2U}) {
        Cluster cluster({.nodes = nodes});
        Crew crew(cluster, {.nodes = in_turn(2, nodes), .tune = quorum_of(2)});
        crew.barrier();
        const pace_request canceled = crew.call(0, 100);
        EXPECT_EQ(crew.worker(0).wait(canceled, kMomentMs), PACE_TIMEOUT);
        EXPECT_EQ(crew.worker(0).cancel(canceled), PACE_OK);
        EXPECT_EQ(crew.worker(0).wait(canceled), PACE_CANCELED);
        EXPECT_EQ(crew.value(0), 100) << "the buffer stays as it was";
        const pace_request again = crew.call(0, 1);
        double model = crew.reduce(1, 2);
        crew.worker(0).finish(again);
        crew.barrier();
        for (size_t rank = 0; rank < 2; ++rank) crew.set(rank, 0);
        crew.everyone([](Worker& worker) { return worker.reduce(PACE_OP_SUM); });
        model += crew.value(1);
        EXPECT_EQ(model, 3);
    }
}

void take_back_barrier(Worker& worker) {
    const pace_request canceled = worker.barrier();
    EXPECT_EQ(worker.wait(canceled, kMomentMs / 4), PACE_TIMEOUT);
    EXPECT_EQ(worker.cancel(canceled), PACE_OK);
    EXPECT_EQ(worker.wait(canceled), PACE_CANCELED);
}

TEST(PartialVerbs, ABarrierThatIsTakenBackLeavesTheWorkerFreeToReduce) {
    for (const size_t nodes : {1U, 2U}) {
        Cluster cluster({.nodes = nodes});
        Crew crew(cluster, {.nodes = in_turn(3, nodes), .tune = solo});
        crew.barrier();
        take_back_barrier(crew.worker(0));
        EXPECT_EQ(crew.reduce(0, 1), 1);
        // The others' barrier is not complete without this worker.
        const pace_request first = crew.worker(1).barrier();
        take_back_barrier(crew.worker(2));
        EXPECT_EQ(crew.worker(1).wait(first, kMomentMs), PACE_TIMEOUT);
        EXPECT_EQ(crew.reduce(0, 1), 1);
        const pace_request again = crew.worker(2).barrier();
        crew.worker(0).finish(crew.worker(0).barrier());
        crew.worker(1).finish(first);
        crew.worker(2).finish(again);
    }
}

// A round goes on although a worker was drawn to start it, waits for all, or has changed its mind.
TEST(PartialVerbs, RoundsGoOnWhoeverTakesABarrierBack) {
    const std::vector<std::pair<const char*, Crew::Tune>> quorums = {
        {"majority", majority}, {"strict", majority_strict}, {"two", quorum_of(2)}};
    for (const size_t nodes : {1U, 2U}) {
        Cluster cluster({.nodes = nodes});
        for (const auto& [name, tune] : quorums) {
            SCOPED_TRACE(name);
            Crew crew(cluster, {.nodes = in_turn(4, nodes), .tune = tune, .job = name});
            crew.barrier();
            // Worker 3 waits, so that some rounds are started for worker 3.
            const pace_request waiting = crew.worker(3).barrier();
            for (int round = 0; round < 12; ++round) {
                for (const size_t rank : {0U, 2U}) take_back_barrier(crew.worker(rank));
                std::vector<pace_request> requests;
                for (const size_t rank : {0U, 1U, 2U}) requests.push_back(crew.call(rank, 1));
                for (const size_t rank : {0U, 1U, 2U}) crew.worker(rank).finish(requests[rank]);
            }
            std::vector<pace_request> requests;
            for (const size_t rank : {0U, 1U, 2U}) requests.push_back(crew.worker(rank).barrier());
            for (const size_t rank : {0U, 1U, 2U}) crew.worker(rank).finish(requests[rank]);
            crew.worker(3).finish(waiting);
        }
    }
}

// -------------------------------------------------------------- what does not fit the first reduce

TEST(PartialVerbs, OtherBuffersOrAnotherOperationThanTheFirstAreRefused) {
    for (const size_t nodes : {1U, 2U}) {
        Cluster cluster({.nodes = nodes});
        Crew crew(cluster, {.nodes = in_turn(2, nodes), .tune = solo});
        crew.reduce(0, 1);
        crew.barrier();
        crew.set(1, 5);
        EXPECT_EQ(crew.worker(1).wait(crew.worker(1).reduce(PACE_OP_MEAN)), PACE_E_MISMATCH);
        EXPECT_NE(crew.worker(1).complaint().find("first reduce"), std::string::npos)
            << crew.worker(1).complaint();
        EXPECT_EQ(crew.value(1), 5) << "inputs must stay intact";
        crew.reduce(0, 2);
        crew.barrier();
        EXPECT_EQ(crew.reduce(1, 4), 3);
        EXPECT_EQ(crew.worker(1).info().rounds, 2U);
        EXPECT_EQ(crew.reduce(0, 8), 12);
        crew.worker(0).add_floats(1, 0);
        EXPECT_EQ(crew.worker(0).wait(crew.worker(0).reduce()), PACE_E_MISMATCH);
    }
}

TEST(PartialVerbs, NodesWhoseFirstReducesDifferAreBothTold) {
    Cluster cluster({.nodes = 2});
    Crew crew(cluster, {.nodes = {0, 1}, .tune = quorum_of(2)});
    crew.barrier();
    const pace_request first = crew.worker(0).reduce(PACE_OP_SUM);
    const pace_request second = crew.worker(1).reduce(PACE_OP_MEAN);
    EXPECT_EQ(crew.worker(0).wait(first), PACE_E_MISMATCH) << crew.worker(0).complaint();
    EXPECT_EQ(crew.worker(1).wait(second), PACE_E_MISMATCH) << crew.worker(1).complaint();
    // The job can be left in order, and the node works.
    crew.leave(0);
    crew.leave(1);
    Crew other(cluster, {.nodes = {0, 1}, .tune = quorum_of(2), .job = "other"});
    const pace_request request = other.call(0, 1);
    EXPECT_EQ(other.reduce(1, 2), 3);
    other.worker(0).finish(request);
}

// Either worker is first. The other worker's call may come while its node is being told the
// buffers' sizes and types.
TEST(PartialVerbs, FirstReducesThatDifferHarmNobodyHoweverTheyMeet) {
    Cluster cluster({.nodes = 2});
    for (int i = 0; i < 40; ++i) {
        Crew crew(cluster, {.nodes = {0, 1}, .tune = solo, .job = "job-" + std::to_string(i)});
        crew.worker(1).add_floats(5000, 1);
        crew.barrier();
        const pace_request first = crew.call(i % 2, 1);
        const pace_request second = crew.call(1 - i % 2, 1);
        const pace_status one = crew.worker(i % 2).wait(first);
        const pace_status other = crew.worker(1 - i % 2).wait(second);
        EXPECT_TRUE(one == PACE_E_MISMATCH || other == PACE_E_MISMATCH);
        for (const pace_status status : {one, other})
            EXPECT_TRUE(status == PACE_OK || status == PACE_E_MISMATCH) << status;
    }
}

// ------------------------------------------------------------------------------------------ resync

void solo_resync_four(AskedSession& job) {
    solo(job);
    job.set(PACE_OPT_REDUCE_RESYNC_EVERY, 4);
}

// All workers are asked for the same sync, and then for the next one. This holds however late they
// are, and whatever calls for all they make in between.
TEST(PartialVerbs, AllWorkersAreAskedForASyncAtTheSameRound) {
    for (const size_t nodes : {1U, 2U}) {
        Cluster cluster({.nodes = nodes});
        Crew crew(cluster, {.nodes = in_turn(3, nodes), .tune = solo_resync_four});
        for (int cycle = 0; cycle < 8; ++cycle) {
            int rounds = 0;
            bool asked = false;
            while (!asked && rounds < 8) {
                crew.reduce(0, 1);
                ++rounds;
                asked = crew.worker(0).info().resync != 0;
                if (asked || rounds != 1) continue;
                // Worker 1 gets this round. Then all workers wait in barriers, which take numbers
                // of rounds.
                crew.reduce(1, 1);
                EXPECT_EQ(crew.worker(1).info().resync, 0U);
                for (int barriers = 0; barriers < cycle; ++barriers) crew.barrier();
            }
            EXPECT_TRUE(asked) << "cycle " << cycle;
            EXPECT_LE(rounds, 4);
            for (const size_t rank : {1U, 2U}) {
                // The first call may come before the worker's node has the result.
                for (int calls = 0; calls == 0 || crew.worker(rank).info().resync == 0; ++calls) {
                    ASSERT_LT(calls, 2) << "cycle " << cycle;
                    crew.reduce(rank, 1);
                }
            }
            for (size_t rank = 0; rank < 3; ++rank) crew.set(rank, static_cast<double>(rank));
            crew.everyone(sync());
            for (size_t rank = 0; rank < 3; ++rank) EXPECT_EQ(crew.value(rank), 1);
        }
    }
}

}  // namespace
}  // namespace pace::cluster
