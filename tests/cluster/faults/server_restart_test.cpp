// Server restart tests: the daemons and the controller of a parameter server are killed together
// and started again. Surviving trainers go on within seconds, and each pull is of one moment. Each
// update adds the same number to every element, so that a torn model is not uniform.
#include <csignal>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tests/cluster/harness/cluster.h"
#include "tests/cluster/harness/faults.h"

namespace pace::cluster {
namespace {

std::vector<std::string> flags_of_trainers(uint32_t checkpoint_every_ms) {
    return {"--mode",
            "served",
            "--steps",
            "100000000",
            "--elements",
            "4096",
            "--step-us",
            "2000",
            "--checkpoint-every-ms",
            std::to_string(checkpoint_every_ms),
            "--connect-ms",
            "10000"};
}

// Every trainer makes steps again, and no trainer has been told of a fault. A trainer that was told
// would have ended.
void expect_steps(std::vector<Process>& trainers, Cluster& cluster, const std::string& after) {
    for (Process& trainer : trainers) (void)newest_step(trainer);
    for (size_t rank = 0; rank < trainers.size(); ++rank) {
        for (int step = 0; step < 5; ++step)
            ASSERT_TRUE(let_say(trainers[rank], "step ", cluster))
                << "rank " << rank << " after " << after;
    }
    expect_no_line(trainers, "wrong");
}

void kill_daemons(Cluster& cluster, size_t nodes) {
    for (size_t node = 0; node < nodes; ++node) cluster.daemon(node).signal(SIGKILL);
    for (size_t node = 0; node < nodes; ++node)
        ASSERT_TRUE(cluster.daemon(node).wait(soon())) << node;
}

struct Everything {
    const char* name;
    size_t nodes;
    // The controller is a process of its own.
    bool controller;
    bool kills_controller;
    bool loses_journal;
    uint32_t checkpoint_every_ms;
};

class ServerRestarts : public testing::TestWithParam<Everything> {};

TEST_P(ServerRestarts, TrainersThatLiveOnGoOn) {
    const Everything& all = GetParam();
    Cluster cluster({.nodes = all.nodes, .controller = all.controller});
    auto trainers = cluster.trainers(2 * all.nodes, flags_of_trainers(all.checkpoint_every_ms));
    for (int life = 0; life < 3; ++life) {
        expect_steps(trainers, cluster, "life " + std::to_string(life));
        kill_daemons(cluster, all.nodes);
        if (all.kills_controller) cluster.kill_controller();
        if (all.loses_journal) cluster.lose_journal();
        if (all.kills_controller) cluster.start_controller();
        for (size_t node = 0; node < all.nodes; ++node) cluster.start_daemon(node);
    }
    expect_steps(trainers, cluster, "the last life");
}

INSTANTIATE_TEST_SUITE_P(
    Of, ServerRestarts,
    testing::Values(
        Everything{"TheOnlyDaemon", 1, false, false, false, 100},
        Everything{"AllDaemons", 2, true, false, false, 100},
        Everything{"AllDaemonsWithoutCheckpoints", 2, true, false, false, 0},
        Everything{"AllDaemonsAndTheController", 2, true, true, false, 100},
        Everything{"AllDaemonsAndTheControllerWithoutCheckpoints", 2, true, true, false, 0},
        Everything{"AllDaemonsAndTheControllerWithItsJournal", 2, true, true, true, 100}),
    [](const auto& test) { return test.param.name; });

// Returns how often the node has lost the controller, according to its log.
size_t times_lost(const Cluster& cluster, size_t node) {
    std::ifstream log(cluster.directory() + "/node" + std::to_string(node) + ".log");
    size_t times = 0;
    for (std::string line; std::getline(log, line);)
        if (line.find("lost the controller") != std::string::npos) ++times;
    return times;
}

// Reads the log again and again. Between reads it yields the processor to the others.
bool loses_controller(const Cluster& cluster, size_t node, size_t before) {
    const Deadline deadline = soon();
    while (times_lost(cluster, node) <= before) {
        if (std::chrono::steady_clock::now() >= deadline) return false;
        std::this_thread::yield();
    }
    return true;
}

// The daemons take the frozen controller for dead, and attach anew. The daemons lose what the
// controller sends before it hears of that.
TEST(ServerRestart, NoPullIsTornWhenDaemonsAndTheControllerFailTogether) {
    constexpr size_t kNodes = 4;
    base::Random random(test_seed());
    Cluster cluster({.nodes = kNodes});
    auto trainers = cluster.trainers(2 * kNodes, flags_of_trainers(200));
    expect_steps(trainers, cluster, "the start");
    for (int time = 0; time < 6; ++time) {
        const size_t killed = random.below(kNodes);
        const bool restarts_controller = random.below(2) == 0;
        const std::string name = "time " + std::to_string(time) + ", node " +
                                 std::to_string(killed) +
                                 (restarts_controller ? " and the controller" : "");
        if (restarts_controller) {
            cluster.kill_controller();
            cluster.start_controller();
            // Only an attached daemon can lose the controller.
            expect_steps(trainers, cluster, name + ", restarted");
        }
        cluster.daemon(killed).signal(SIGKILL);
        ASSERT_TRUE(cluster.daemon(killed).wait(soon()));
        const size_t watched = (killed + 1) % kNodes;
        const size_t before = times_lost(cluster, watched);
        cluster.controller().signal(SIGSTOP);
        ASSERT_TRUE(loses_controller(cluster, watched, before)) << name;
        cluster.start_daemon(killed);
        cluster.controller().signal(SIGCONT);
        expect_steps(trainers, cluster, name);
    }
    EXPECT_EQ(cluster.logs().find("the order goes on at position"), std::string::npos)
        << cluster.logs();
}

// Nothing is frozen. All processes die and are back at once, again and again.
TEST(ServerRestart, NoPullIsTornWhenTheyAreRestartedTogether) {
    constexpr size_t kNodes = 3;
    base::Random random(test_seed());
    Cluster cluster({.nodes = kNodes});
    auto trainers = cluster.trainers(2 * kNodes, flags_of_trainers(100));
    expect_steps(trainers, cluster, "the start");
    for (int time = 0; time < 10; ++time) {
        const size_t killed = random.below(kNodes);
        let_step(trainers[2 * ((killed + 1) % kNodes)], 1 + random.below(10), cluster);
        cluster.daemon(killed).signal(SIGKILL);
        cluster.kill_controller();
        ASSERT_TRUE(cluster.daemon(killed).wait(soon()));
        cluster.start_controller();
        cluster.start_daemon(killed);
        expect_steps(trainers, cluster, "time " + std::to_string(time));
    }
    EXPECT_EQ(cluster.logs().find("the order goes on at position"), std::string::npos)
        << cluster.logs();
}

}  // namespace
}  // namespace pace::cluster
