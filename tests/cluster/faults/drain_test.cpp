// Drain tests: an operator drains a node.
#include <gtest/gtest.h>

#include "tests/cluster/harness/cluster.h"
#include "tests/cluster/harness/crew.h"

namespace pace::cluster {
namespace {

WorkerOptions at(const Cluster& cluster, size_t node, uint32_t rank, const std::string& job) {
    return {.endpoint = cluster.endpoint(node), .job = job, .rank = rank, .world = 1};
}

TEST(Drain, WorkersLeaveWithTheReasonAndTheOthersGoOn) {
    Cluster cluster({.nodes = 2});
    Crew crew(cluster, {.nodes = {0, 0, 1, 1}});
    crew.barrier();
    // Rank 0 waits in a round for ranks that will not call.
    const pace_request waits = crew.call(0, 1);
    const std::string said = cluster.pacectl(0, {"node", "drain", "node1"});
    EXPECT_NE(said.find("node1 is drained"), std::string::npos) << said;
    const pace_request other = crew.call(1, 2);
    crew.worker(0).finish(waits);
    crew.worker(1).finish(other);
    EXPECT_DOUBLE_EQ(crew.value(0), 3);
    for (const uint32_t rank : {2U, 3U}) {
        EXPECT_EQ(crew.worker(rank).wait(crew.call(rank, 4)), PACE_E_CLOSED);
        const std::string complaint = crew.worker(rank).complaint();
        EXPECT_NE(complaint.find("an operator drains node 'node1'"), std::string::npos)
            << complaint;
        // The refusal is permanent.
        EXPECT_EQ(crew.worker(rank).wait(crew.worker(rank).broadcast(0)), PACE_E_CLOSED);
    }
    EXPECT_NE(cluster.pacectl(1, {"status", "--json"}).find("\"draining\": true"),
              std::string::npos);
}

TEST(Drain, WhatHasBeenHandedInCounts) {
    Cluster cluster({.nodes = 2});
    Crew crew(cluster, {.nodes = {0, 1}, .elements = 100'000});
    const pace_request first = crew.call(0, 1);
    const pace_request second = crew.call(1, 2);
    crew.worker(0).finish(first);
    crew.worker(1).finish(second);
    cluster.pacectl(0, {"node", "drain", "node1"});
    EXPECT_DOUBLE_EQ(crew.value(1), 3);
    EXPECT_DOUBLE_EQ(crew.reduce(0, 5), 5);
}

TEST(Drain, TakesNobodyInUntilItIsPutBackAndSurvivesTheController) {
    Cluster cluster({.nodes = 2});
    cluster.pacectl(0, {"node", "drain", "node1"});
    const auto is_refused = [&](const std::string& job) {
        const Worker worker(at(cluster, 1, 0, job));
        EXPECT_EQ(worker.opened(), PACE_E_DENIED);
        EXPECT_NE(worker.complaint().find("pacectl node undrain node1"), std::string::npos)
            << worker.complaint();
    };
    is_refused("before");
    EXPECT_EQ(Worker(at(cluster, 0, 0, "elsewhere")).opened(), PACE_OK);
    cluster.kill_controller();
    cluster.start_controller();
    is_refused("after");
    cluster.pacectl(1, {"node", "undrain", "node1"});
    EXPECT_EQ(Worker(at(cluster, 1, 0, "again")).opened(), PACE_OK);
}

TEST(Drain, OfANodeThatIsNotThereSaysSo) {
    Cluster cluster({.nodes = 1});
    cluster.pacectl(0, {"node", "drain", "nowhere"}, 1);
    EXPECT_NE(cluster.logs().find("there is no node 'nowhere'"), std::string::npos);
}

// A group forms of the workers that are left.
TEST(Drain, AveragingGoesOnAmongTheOthers) {
    Cluster cluster({.nodes = 2});
    auto trainers = cluster.trainers(4, {"--mode", "average", "--steps", "1000000000",
                                         "--group-size", "2", "--step-us", "1000"});
    ASSERT_TRUE(trainers.front().wait_for("step 20", soon())) << cluster.logs();
    cluster.pacectl(0, {"node", "drain", "node1"});
    for (const size_t rank : {2U, 3U}) {
        const auto outcome = trainers[rank].wait_for("outcome PACE_E_CLOSED", soon());
        ASSERT_TRUE(outcome) << cluster.logs();
        EXPECT_NE(outcome->find("an operator drains node 'node1'"), std::string::npos) << *outcome;
        EXPECT_TRUE(trainers[rank].wait(soon()));
    }
    const auto step = trainers.front().read_line(soon());
    ASSERT_TRUE(step);
    for (int more = 0; more < 50; ++more)
        ASSERT_TRUE(trainers.front().wait_for("step", soon())) << cluster.logs();
}

}  // namespace
}  // namespace pace::cluster
