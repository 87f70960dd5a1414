// Fault tests: check what must hold when a process dies or freezes (docs/architecture.md, "When
// something dies"). Every test prints its seed.
#include <algorithm>
#include <csignal>

#include <gtest/gtest.h>

#include "base/random.h"
#include "tests/cluster/harness/faults.h"
#include "tests/simulated_gpu/simulated_gpu.h"

namespace pace::cluster {
namespace {

using std::chrono::milliseconds;

uint64_t now_us() {
    return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(
                                     std::chrono::steady_clock::now().time_since_epoch())
                                     .count());
}

// Returns how long after `since` the trainer made its second step. The first step after `since` may
// have been under way already.
double pause_ms(Process& trainer, uint64_t since, const Cluster& cluster) {
    int later = 0;
    while (const auto line = trainer.wait_for("step ", soon())) {
        const uint64_t time = std::stoull(line->substr(line->find(' ')));
        if (time > since && ++later == 2) return static_cast<double>(time - since) / 1000;
    }
    ADD_FAILURE() << "no step after the fault\n" << cluster.logs();
    return 0;
}

// Returns the name as the trainer calls a policy. A test's name has no dash.
std::string words_of(std::string name) {
    std::replace(name.begin(), name.end(), '_', '-');
    return name;
}

// Returns the flags for trainers of a family, or of a policy of the averaging family.
std::vector<std::string> endless(const std::string& mode) {
    constexpr std::string_view kOnGpu = "gpu_";
    if (mode.starts_with(kOnGpu)) {
        auto flags = endless(mode.substr(kOnGpu.size()));
        flags.insert(flags.end(), {"--on-gpu", "1"});
        return flags;
    }
    constexpr std::string_view kOnGpus = "gpus_";
    if (mode.starts_with(kOnGpus)) {
        auto flags = endless(mode.substr(kOnGpus.size()));
        // There are so many elements that the sums go from GPU to GPU.
        flags.insert(flags.end(), {"--on-own-gpu", "1", "--elements", "80000"});
        return flags;
    }
    std::vector<std::string> flags{"--steps",    "1000000000", "--step-us",    "1000",
                                   "--elements", "20000",      "--connect-ms", "1000"};
    if (mode == "reduce") return flags;
    if (mode == "served" || mode == "saved") {
        flags.insert(flags.end(), {"--mode", "served"});
        if (mode == "saved") flags.insert(flags.end(), {"--checkpoint-every-ms", "20"});
        return flags;
    }
    flags.insert(flags.end(), {"--mode", "average"});
    if (mode == "announced")
        flags.insert(flags.end(), {"--announce", "1"});
    else if (mode == "ordered")
        flags.insert(flags.end(), {"--order", "backward"});
    else if (mode == "kept")
        flags.insert(flags.end(), {"--keep-local", "1"});
    else if (mode != "average")
        flags.insert(flags.end(), {"--policy", words_of(mode)});
    return flags;
}

class Faults : public testing::TestWithParam<const char*> {
  protected:
    // Trainers and daemons find the simulated GPU. A process that does not ask for a GPU does not
    // see it.
    static void SetUpTestSuite() {
        simulated_gpu::set_environment(simulated_gpu::Nccl::present);
        setenv("PACED_PLUGINS", simulated_gpu::kPlugins, 1);
        setenv("PACE_SIMULATED_GPUS", "8", 1);
        setenv("PACE_SIMULATED_NCCL_DELAY_US", "300", 1);
    }
    base::Random random_{test_seed()};
};

INSTANTIATE_TEST_SUITE_P(Families, Faults,
                         testing::Values("reduce", "average", "announced", "prague_smart",
                                         "prague_static", "ordered", "kept", "served", "saved",
                                         "gpu_reduce", "gpu_average", "gpu_saved", "gpus_reduce",
                                         "gpus_average"),
                         [](const auto& family) { return std::string(family.param); });

TEST_P(Faults, AKilledTrainerCostsTheOthersNothingButItsContribution) {
    Cluster cluster({.nodes = 2});
    auto trainers = cluster.trainers(4, endless(GetParam()));
    let_step(trainers[0], 5 + random_.below(20), cluster);
    trainers[3].signal(SIGKILL);
    for (size_t rank = 0; rank < 3; ++rank) {
        let_step(trainers[rank], 50, cluster);
        EXPECT_TRUE(trainers[rank].running());
    }
}

TEST_P(Faults, ARestartedTrainerGetsTheCurrentModelAndGoesOn) {
    Cluster cluster({.nodes = 2});
    auto trainers = cluster.trainers(4, endless(GetParam()));
    let_step(trainers[0], 20 + random_.below(20), cluster);
    trainers[3].signal(SIGKILL);
    ASSERT_TRUE(trainers[3].wait(soon()));
    let_step(trainers[0], 30, cluster);
    Process again = start_again(cluster, 1, 3, 4, endless(GetParam()));
    const auto model = let_say(again, "model at ", cluster);
    ASSERT_TRUE(model);
    EXPECT_GE(std::stoull(*model), 20U);
    let_step(again, 20, cluster);
    let_step(trainers[0], 20, cluster);
}

TEST_P(Faults, AFrozenTrainerIsNeverAReasonForAnotherToHang) {
    Cluster cluster({.nodes = 2, .controller_flags = {"--stopped-wait-ms", "300"}});
    auto trainers = cluster.trainers(4, endless(GetParam()));
    let_step(trainers[0], 5 + random_.below(20), cluster);
    trainers[2].signal(SIGSTOP);
    for (const size_t rank : {0U, 1U, 3U}) let_step(trainers[rank], 50, cluster);
    trainers[2].signal(SIGCONT);
    // The trainer may have lines from before in its pipe. The sum of all steps shows that it goes
    // on.
    let_step(trainers[2], 60, cluster);
    let_step(trainers[0], 20, cluster);
}

TEST_P(Faults, AKilledDaemonCostsTheSurvivorsAShortPause) {
    Cluster cluster({.nodes = 4});
    auto trainers = cluster.trainers(8, endless(GetParam()));
    let_step(trainers[0], 5 + random_.below(20), cluster);
    const uint64_t killed = now_us();
    cluster.daemon(3).signal(SIGKILL);
    ASSERT_TRUE(cluster.daemon(3).wait(soon()));
    std::printf("a survivor made its second step %.1f ms after the daemon's death\n",
                pause_ms(trainers[0], killed, cluster));
    for (size_t rank = 0; rank < 6; ++rank) let_step(trainers[rank], 50, cluster);
    for (const size_t rank : {6U, 7U})
        EXPECT_TRUE(trainers[rank].wait_for("outcome PACE_E_DAEMON_GONE", soon()))
            << cluster.logs();
}

TEST_P(Faults, TrainersOfARestartedDaemonReconnectByThemselves) {
    Cluster cluster({.nodes = 2});
    auto trainers = cluster.trainers(4, endless(GetParam()));
    let_step(trainers[0], 5 + random_.below(20), cluster);
    cluster.daemon(1).signal(SIGKILL);
    ASSERT_TRUE(cluster.daemon(1).wait(soon()));
    ASSERT_TRUE(trainers[2].wait_for("outcome PACE_E_DAEMON_GONE", soon())) << cluster.logs();
    cluster.start_daemon(1);
    let_step(trainers[2], 20, cluster);
    let_step(trainers[3], 20, cluster);
    let_step(trainers[0], 20, cluster);
}

TEST_P(Faults, AFrozenDaemonIsExcludedAndComesBackWhenItWakes) {
    Cluster cluster({.nodes = 3});
    auto trainers = cluster.trainers(6, endless(GetParam()));
    let_step(trainers[0], 5 + random_.below(20), cluster);
    cluster.daemon(2).signal(SIGSTOP);
    const uint64_t frozen = now_us();
    std::printf("a survivor made its second step %.1f ms after the freeze\n",
                pause_ms(trainers[0], frozen, cluster));
    for (const size_t rank : {0U, 1U, 2U, 3U}) let_step(trainers[rank], 80, cluster);
    cluster.daemon(2).signal(SIGCONT);
    let_step(trainers[4], 60, cluster);
    let_step(trainers[5], 60, cluster);
    let_step(trainers[0], 20, cluster);
}

// Rounds take longer than anything between them. So the daemon nearly always has a round under way,
// which the others give up. No message tells the daemon so, because the controller that goes on has
// never known the daemon.
TEST_P(Faults, ADaemonThatIsFrozenInARoundComesBackToAnotherController) {
    Cluster cluster({.nodes = 2});
    auto flags = endless(GetParam());
    flags.insert(flags.end(), {"--elements", "1000000", "--step-us", "0"});
    auto trainers = cluster.trainers(2, flags);
    let_step(trainers[0], 2 + random_.below(5), cluster);
    cluster.daemon(1).signal(SIGSTOP);
    cluster.kill_controller();
    cluster.start_controller();
    let_step(trainers[0], 20, cluster);
    cluster.daemon(1).signal(SIGCONT);
    let_step(trainers[1], 20, cluster);
    let_step(trainers[0], 5, cluster);
}

// The node without the controller waits, though its connections to the other nodes stand.
TEST_P(Faults, ANodeThatIsCutOffFromTheControllerWaitsAndComesBack) {
    Cluster cluster({.nodes = 3, .cabled = 2});
    auto trainers = cluster.trainers(6, endless(GetParam()));
    let_step(trainers[0], 5 + random_.below(20), cluster);
    cluster.cable().cut();
    let_stop(trainers[4], trainers[0], cluster);
    for (const size_t rank : {0U, 1U, 2U, 3U}) let_step(trainers[rank], 20, cluster);
    cluster.cable().mend();
    let_step(trainers[4], 20, cluster);
    let_step(trainers[5], 20, cluster);
    let_step(trainers[0], 20, cluster);
    expect_no_line(trainers, "wrong");
}

TEST_P(Faults, AControllerThatDiesAndReturnsLosesNoIteration) {
    Cluster cluster({.nodes = 2});
    auto trainers = cluster.trainers(4, endless(GetParam()));
    for (int round = 0; round < 3; ++round) {
        let_step(trainers[0], 5 + random_.below(20), cluster);
        cluster.kill_controller();
        cluster.start_controller();
        for (Process& trainer : trainers) let_step(trainer, 20, cluster);
    }
    expect_no_line(trainers, "outcome");
    expect_no_line(trainers, "wrong");
    for (Process& trainer : trainers) {
        uint64_t last = 0;
        for (const std::string& line : trainer.lines()) {
            if (!line.starts_with("step ")) continue;
            const uint64_t step = std::stoull(line.substr(5));
            EXPECT_GE(step, last);
            last = step;
        }
    }
}

// The daemons remember what the controller had.
TEST_P(Faults, AControllerWithoutItsJournalLosesNoIteration) {
    Cluster cluster({.nodes = 3});
    auto trainers = cluster.trainers(6, endless(GetParam()));
    for (int round = 0; round < 3; ++round) {
        let_step(trainers[0], 5 + random_.below(20), cluster);
        cluster.kill_controller();
        cluster.lose_journal();
        cluster.start_controller();
        for (Process& trainer : trainers) let_step(trainer, 20, cluster);
    }
    expect_no_line(trainers, "outcome");
    expect_no_line(trainers, "wrong");
}

// The trainer may be back before any member is back. It says nothing of a job that has begun.
TEST_P(Faults, ATrainerIsRestartedWhileTheJournalIsLost) {
    Cluster cluster({.nodes = 3});
    auto trainers = cluster.trainers(6, endless(GetParam()));
    for (int round = 0; round < 4; ++round) {
        const size_t rank = 2 + random_.below(4);
        let_step(trainers[0], 5 + random_.below(10), cluster);
        cluster.kill_controller();
        cluster.lose_journal();
        trainers[rank].signal(SIGKILL);
        ASSERT_TRUE(trainers[rank].wait(soon()));
        trainers[rank] = start_again(cluster, random_.below(3), rank, 6, endless(GetParam()));
        cluster.start_controller();
        for (Process& trainer : trainers) let_step(trainer, 20, cluster);
    }
    expect_no_line(trainers, "wrong");
}

// The controller is frozen for longer than it waits for any process, and than any process waits for
// it. No worker is removed, and no iteration is lost.
TEST_P(Faults, AFrozenControllerOnlyDelaysNewGroups) {
    Cluster cluster({.nodes = 3});
    auto trainers = cluster.trainers(6, endless(GetParam()));
    for (int round = 0; round < 2; ++round) {
        let_step(trainers[0], 5 + random_.below(20), cluster);
        cluster.freeze_controller();
        for (Process& trainer : trainers) let_step_from_now(trainer, 30, cluster);
    }
    expect_no_line(trainers, "outcome");
    expect_no_line(trainers, "wrong");
}

// The controller is frozen for six times as long as any process waits for it. Some jobs do not wait
// for the controller, and one job does.
TEST(LongFreeze, OfTheControllerTakesNobodyOut) {
    Cluster cluster({.nodes = 3});
    std::vector<Process> trainers;
    for (const char* mode : {"reduce", "average", "partial", "sparse"}) {
        auto flags = endless("reduce");
        flags.insert(flags.end(), {"--mode", mode, "--job", mode});
        if (mode == std::string("partial")) flags.insert(flags.end(), {"--quorum", "majority"});
        for (Process& trainer : cluster.trainers(3, flags)) trainers.push_back(std::move(trainer));
    }
    for (Process& trainer : trainers) let_step(trainer, 10, cluster);
    cluster.controller().signal(SIGSTOP);
    const Deadline thaw = within(std::chrono::seconds(12));
    while (std::chrono::steady_clock::now() < thaw) {
        trainers[0].read_line(std::min(thaw, within(milliseconds(100))));
        // Reads the output so that no trainer waits for the test.
        for (Process& trainer : trainers)
            while (trainer.read_line(within(milliseconds(0)))) {
            }
    }
    cluster.controller().signal(SIGCONT);
    for (Process& trainer : trainers) let_step_from_now(trainer, 30, cluster);
    expect_no_line(trainers, "outcome");
    expect_no_line(trainers, "wrong");
    const std::string logs = cluster.logs();
    EXPECT_EQ(logs.find("worker-suspended"), std::string::npos) << logs;
    EXPECT_EQ(logs.find("node-excluded"), std::string::npos) << logs;
}

// Random faults happen at random moments, several times. No process hangs, and no number is wrong.
TEST_P(Faults, AStormLeavesTheRestTraining) {
    Cluster cluster({.nodes = 3, .controller_flags = {"--stopped-wait-ms", "300"}});
    auto trainers = cluster.trainers(6, endless(GetParam()));
    storm(trainers, cluster, random_, 6, endless(GetParam()));
    for (const size_t rank : {0U, 1U}) let_step(trainers[rank], 60, cluster);
    expect_no_line(trainers, "wrong");
}

}  // namespace
}  // namespace pace::cluster
