// Grouping tests: which workers average together. The job or the nodes decide this: by a
// communication graph, by zones, or by the policy that chooses.
#include <atomic>
#include <chrono>
#include <thread>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/cluster/harness/crew.h"

namespace pace::cluster {
namespace {

nlohmann::json job_of(Cluster& cluster) {
    const auto status = nlohmann::json::parse(cluster.state(), nullptr, false);
    return status.is_object() ? status["jobs"][0] : nlohmann::json();
}

TEST(Grouping, PairsKeepToTheCommunicationGraph) {
    // The graph is a line of five workers.
    const std::vector<uint32_t> edges{0, 1, 2, 1, 2, 3, 3, 4};
    Cluster cluster({.nodes = 2});
    Crew crew(cluster, {.nodes = in_turn(5, 2), .tune = [&](AskedSession& job) {
                            job.policy = PACE_POLICY_AD_PSGD;
                            job.set(PACE_OPT_GROUP_EDGES, edges);
                        }});
    for (uint32_t rank = 0; rank < 5; ++rank) crew.set(rank, rank);
    std::atomic<uint64_t> pairs = 0;
    // Each worker runs at its own pace. A worker that has done enough leaves, so that no other
    // worker waits for it.
    std::vector<std::thread> trainers;
    for (uint32_t rank = 0; rank < 5; ++rank)
        trainers.emplace_back([&, rank] {
            for (uint64_t iteration = 1; iteration <= 20; ++iteration) {
                Worker& worker = crew.worker(rank);
                worker.finish(worker.average(iteration));
                ASSERT_LE(worker.info().member_count, 2U);
                if (worker.info().member_count < 2) continue;
                ++pairs;
                EXPECT_EQ(worker.members()[1].rank - worker.members()[0].rank, 1U);
            }
            if (rank > 0) crew.leave(rank);
        });
    for (std::thread& trainer : trainers) trainer.join();
    EXPECT_GT(pairs, 0U);
    EXPECT_EQ(job_of(cluster)["options"]["group.edges"], 4);
}

TEST(Grouping, AGraphThatIsNotConnectedIsRefusedByName) {
    const std::vector<uint32_t> edges{0, 1, 2, 3};
    Cluster cluster({.nodes = 1});
    WorkerOptions options;
    options.endpoint = cluster.endpoint(0);
    options.world = 4;
    options.policy = PACE_POLICY_AD_PSGD;
    options.tune = [&](AskedSession& job) { job.set(PACE_OPT_GROUP_EDGES, edges); };
    const Worker worker(options);
    EXPECT_EQ(worker.opened(), PACE_E_INVALID);
    EXPECT_NE(worker.complaint().find("edges"), std::string::npos) << worker.complaint();
}

// Every element is a whole number, so that no order of summing rounds.
TEST(Grouping, NodesOfTwoZonesSumAsOthersDo) {
    Cluster cluster({.nodes = 5, .zones = {"a/rack-1", "a/rack-1", "b", "b", "b"}});
    Crew crew(cluster, {.nodes = {0, 1, 2, 3, 4, 4}, .elements = 200'000});
    for (uint64_t round = 1; round <= 3; ++round) {
        std::vector<pace_request> requests;
        for (uint32_t rank = 0; rank < 6; ++rank)
            requests.push_back(crew.call(rank, static_cast<double>(round * (rank + 1))));
        for (uint32_t rank = 0; rank < 6; ++rank) crew.worker(rank).finish(requests[rank]);
        for (uint32_t rank = 0; rank < 6; ++rank)
            EXPECT_EQ(crew.value(rank), static_cast<double>(21 * round));
    }
    const nlohmann::json zones = job_of(cluster)["zones"];
    ASSERT_EQ(zones.size(), 2U) << zones;
    EXPECT_EQ(zones[0]["nodes"].size() + zones[1]["nodes"].size(), 5U) << zones;
    EXPECT_NE(cluster.pacectl(0, {"status"}).find("a/rack-1"), std::string::npos);
}

TEST(Grouping, TheZoneOfADeadNodeCostsTheOthersNothing) {
    Cluster cluster({.nodes = 4, .zones = {"a", "a", "b", "b"}});
    const std::vector<std::string> flags{"--steps",    "1000000000", "--step-us",    "1000",
                                         "--elements", "20000",      "--connect-ms", "1000"};
    auto trainers = cluster.trainers(4, flags);
    for (Process& trainer : trainers)
        ASSERT_TRUE(trainer.wait_for("step 5", soon())) << cluster.logs();
    cluster.daemon(3).signal(SIGKILL);
    for (size_t rank = 0; rank < 3; ++rank) {
        const Deadline deadline = soon();
        for (int lines = 0; lines < 50; ++lines)
            ASSERT_TRUE(trainers[rank].wait_for("step ", deadline)) << cluster.logs();
    }
}

TEST(Grouping, ThePolicyThatChoosesAveragesAndSaysWhatItHasChosen) {
    Cluster cluster({.nodes = 2});
    Crew crew(cluster, {.nodes = in_turn(4, 2),
                        .tune = [](AskedSession& job) { job.policy = PACE_POLICY_AUTO; }});
    for (uint32_t rank = 0; rank < 4; ++rank) crew.set(rank, rank);
    // The workers go on until the policy has seen enough steps to give its reason.
    std::atomic<bool> enough = false;
    std::vector<std::thread> trainers;
    for (uint32_t rank = 0; rank < 4; ++rank)
        trainers.emplace_back([&, rank] {
            for (uint64_t iteration = 1; !enough; ++iteration) {
                crew.worker(rank).finish(crew.worker(rank).average(iteration));
                EXPECT_GE(crew.value(rank), 0);
                EXPECT_LE(crew.value(rank), 3);
            }
            if (rank > 0) crew.leave(rank);
        });
    const Deadline deadline = soon();
    nlohmann::json chosen;
    do {
        chosen = job_of(cluster)["auto"];
    } while ((chosen.is_null() || chosen["reason"].get<std::string>().empty()) &&
             std::chrono::steady_clock::now() < deadline);
    EXPECT_FALSE(chosen["reason"].get<std::string>().empty()) << cluster.state();
    EXPECT_NE(cluster.pacectl(0, {"status"}).find("  auto: "), std::string::npos);
    enough = true;
    for (std::thread& trainer : trainers) trainer.join();
}

}  // namespace
}  // namespace pace::cluster
