// Server status tests: what operators can see of a parameter server.
#include <string>

#include <gtest/gtest.h>

#include "tests/cluster/harness/cluster.h"
#include "tests/cluster/harness/team.h"

namespace pace::cluster {
namespace {

TEST(ServerStatus, TheStatusShowsClocksStalenessAndWaiting) {
    Cluster cluster({.nodes = 2});
    Team team(cluster, {.policy = PACE_POLICY_BSP, .rate = "dynamic", .shards = 3}, {0, 1});
    team[0].finish(team[0].push(0));
    const pace_request held = team[0].pull(1);
    EXPECT_EQ(team[0].session().wait(held, 0), PACE_TIMEOUT);
    team[1].finish(team[1].push(0));
    team[0].finish(held);
    const std::string status = cluster.pacectl(0, {"status"});
    EXPECT_NE(status.find("model: 3 shards, 2 pushes, 1 pulls, clocks 1 to 1"), std::string::npos)
        << status;
    EXPECT_NE(status.find("bsp, rate dynamic"), std::string::npos) << status;
    EXPECT_NE(status.find("pushes by versions that they were behind: 0:1 1:1"), std::string::npos)
        << status;
}

TEST(ServerStatus, MetricsTellOfTheModelAndItsShards) {
    Cluster cluster({.nodes = 2});
    Team team(cluster, {.policy = PACE_POLICY_SSP, .rate = "dynamic", .shards = 2}, {0, 1});
    for (uint32_t rank = 0; rank < 2; ++rank) {
        team[rank].set_update(1);
        team[rank].finish(team[rank].push(0));
        team[rank].finish(team[rank].pull(1));
    }
    const std::string metrics = cluster.pacectl(0, {"metrics"});
    for (const char* line : {"pace_model_pushes_total{pace_job=\"served\"} 2\n",
                             "pace_model_slowest_clock{pace_job=\"served\"} 1\n",
                             "pace_node_alive{node=\"node0\"} 1\n", ",kind=\"model\"} 20\n"})
        EXPECT_NE(metrics.find(line), std::string::npos) << line << metrics;
    EXPECT_NE(cluster.pacectl(0, {"daemon"}).find("LIVE VERSIONS"), std::string::npos);
}

}  // namespace
}  // namespace pace::cluster
