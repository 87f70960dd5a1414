// Partial fault tests: check what must hold when a process dies or freezes while rounds do not wait
// for the slow. No process hangs. Afterwards all replicas are equal and hold each gradient of the
// surviving workers exactly once. Every test prints its seed.
#include <csignal>
#include <sstream>

#include <gtest/gtest.h>

#include "base/random.h"
#include "tests/cluster/harness/faults.h"

namespace pace::cluster {
namespace {

// What a trainer prints at its end.
struct End {
    // The number of gradients that the trainer contributed.
    double own = 0;
    // The number of gradients that were applied, by worker.
    std::vector<double> model;
};

End end_of(Process& trainer, const Cluster& cluster) {
    End end;
    const auto line = trainer.wait_for("end ", soon());
    EXPECT_TRUE(line) << cluster.logs();
    if (!line) return end;
    std::istringstream words(*line);
    std::string colon;
    words >> end.own >> colon;
    for (double value = 0; words >> value;) end.model.push_back(value);
    return end;
}

class PartialFaults : public testing::TestWithParam<const char*> {
  protected:
    std::vector<std::string> flags(uint64_t step_us = 1000) const {
        const bool backup = std::string(GetParam()) == "backup";
        return {"--mode",       "partial",
                "--quorum",     backup ? "3" : GetParam(),
                "--late",       backup ? "drop" : "accumulate",
                "--step-us",    std::to_string(step_us),
                "--elements",   "20000",
                "--connect-ms", "1000"};
    }

    // All of these trainers finish together. Their models are equal, and contain each trainer's
    // contributions.
    static void expect_nothing_lost(std::vector<Process>& trainers,
                                    const std::vector<size_t>& ranks, Cluster& cluster) {
        for (const size_t rank : ranks) trainers[rank].signal(SIGTERM);
        std::vector<End> ends;
        for (const size_t rank : ranks) ends.push_back(end_of(trainers[rank], cluster));
        for (size_t i = 0; i < ranks.size(); ++i) {
            ASSERT_GT(ends[i].model.size(), ranks[i]);
            EXPECT_EQ(ends[i].model, ends[0].model)
                << "workers " << ranks[i] << " and " << ranks[0];
            EXPECT_EQ(ends[i].model[ranks[i]], ends[i].own) << "gradients of worker " << ranks[i];
            EXPECT_EQ(trainers[ranks[i]].wait(soon()), 0);
            if (HasFailure())
                for (const std::string& line : trainers[ranks[i]].lines())
                    std::printf("worker %zu: %s\n", ranks[i], line.c_str());
            for (const std::string& line : trainers[ranks[i]].lines())
                EXPECT_FALSE(line.starts_with("wrong")) << "worker " << ranks[i] << ": " << line;
        }
    }

    base::Random random_{test_seed()};
};

INSTANTIATE_TEST_SUITE_P(Quorums, PartialFaults,
                         testing::Values("solo", "majority", "strict", "3", "backup"),
                         [](const auto& quorum) {
                             const std::string name = quorum.param;
                             return name == "3" ? std::string("three") : name;
                         });

TEST_P(PartialFaults, WithoutAnyEverythingIsAppliedOnce) {
    Cluster cluster({.nodes = 3});
    auto trainers = cluster.trainers(5, flags());
    for (Process& trainer : trainers) let_step(trainer, 50, cluster);
    expect_nothing_lost(trainers, {0, 1, 2, 3, 4}, cluster);
}

TEST_P(PartialFaults, AKilledTrainerCostsTheOthersNothing) {
    Cluster cluster({.nodes = 2});
    auto trainers = cluster.trainers(4, flags());
    let_step(trainers[0], 5 + random_.below(20), cluster);
    trainers[3].signal(SIGKILL);
    for (const size_t rank : {0U, 1U, 2U}) let_step(trainers[rank], 50, cluster);
    expect_nothing_lost(trainers, {0, 1, 2}, cluster);
}

// With a majority quorum, the initiator that is drawn is among the killed trainers sooner or later.
TEST_P(PartialFaults, TrainersThatDieOneAfterTheOtherAreReplacedAsInitiators) {
    Cluster cluster({.nodes = 3});
    auto trainers = cluster.trainers(8, flags(300));
    for (const size_t rank : {7U, 2U, 5U, 0U, 4U}) {
        let_step(trainers[1], 5 + random_.below(20), cluster);
        trainers[rank].signal(SIGKILL);
    }
    for (const size_t rank : {1U, 3U, 6U}) let_step(trainers[rank], 50, cluster);
    expect_nothing_lost(trainers, {1, 3, 6}, cluster);
}

TEST_P(PartialFaults, ARestartedTrainerGetsTheCurrentModelWhileRoundsGoOn) {
    Cluster cluster({.nodes = 2});
    auto trainers = cluster.trainers(4, flags());
    for (int round = 0; round < 3; ++round) {
        // The new trainer is beside its donor, or on a node of its own.
        const size_t rank = 1 + random_.below(3);
        let_step(trainers[0], 10 + random_.below(20), cluster);
        trainers[rank].signal(SIGKILL);
        ASSERT_TRUE(trainers[rank].wait(soon()));
        let_step(trainers[0], random_.below(30), cluster);
        trainers[rank] = start_again(cluster, rank / 2, rank, 4, flags());
        const auto model = let_say(trainers[rank], "model at ", cluster);
        ASSERT_TRUE(model);
        EXPECT_GE(std::stoull(*model), 5U);
        let_step(trainers[rank], 20, cluster);
    }
    expect_nothing_lost(trainers, {0, 1, 2, 3}, cluster);
}

TEST_P(PartialFaults, WorkersThatLeaveAndComeBackInOrderLoseNothingOfTheOthers) {
    Cluster cluster({.nodes = 2});
    auto trainers = cluster.trainers(5, flags());
    for (int i = 0; i < 4; ++i) {
        const size_t rank = 2 + random_.below(3);
        let_step(trainers[0], 5 + random_.below(10), cluster);
        trainers[rank].signal(SIGUSR1);
        EXPECT_EQ(trainers[rank].wait(soon()), 0) << cluster.logs();
        if (random_.below(2) == 0) let_step(trainers[0], random_.below(20), cluster);
        trainers[rank] = start_again(cluster, random_.below(2), rank, 5, flags());
        ASSERT_TRUE(let_say(trainers[rank], "joined", cluster));
    }
    for (Process& trainer : trainers) let_step(trainer, 20, cluster);
    expect_nothing_lost(trainers, {0, 1, 2, 3, 4}, cluster);
}

TEST_P(PartialFaults, AFrozenTrainerIsNeverAReasonForAnotherToHang) {
    Cluster cluster({.nodes = 2, .controller_flags = {"--stopped-wait-ms", "300"}});
    auto trainers = cluster.trainers(4, flags());
    let_step(trainers[0], 5 + random_.below(20), cluster);
    trainers[2].signal(SIGSTOP);
    for (const size_t rank : {0U, 1U, 3U}) let_step(trainers[rank], 60, cluster);
    trainers[2].signal(SIGCONT);
    // The trainer may have lines from before in its pipe.
    let_step(trainers[2], 60, cluster);
    let_step(trainers[0], 20, cluster);
    expect_nothing_lost(trainers, {0, 1, 2, 3}, cluster);
}

// The rounds wait for the first trainer when the second one stops. The call of the second trainer
// is in a round that is given up.
TEST_P(PartialFaults, TwoFrozenTrainersComeBackBoth) {
    Cluster cluster({.nodes = 2, .controller_flags = {"--stopped-wait-ms", "100"}});
    auto trainers = cluster.trainers(5, flags(300));
    for (int i = 0; i < 3; ++i) {
        let_step(trainers[0], 5 + random_.below(20), cluster);
        trainers[1].signal(SIGSTOP);
        let_step(trainers[0], 28 + random_.below(5), cluster);
        trainers[3].signal(SIGSTOP);
        for (const size_t rank : {0U, 2U, 4U}) let_step(trainers[rank], 80, cluster);
        for (const size_t rank : {1U, 3U}) trainers[rank].signal(SIGCONT);
        for (const size_t rank : {1U, 3U}) let_step(trainers[rank], 80, cluster);
    }
    expect_nothing_lost(trainers, {0, 1, 2, 3, 4}, cluster);
}

TEST_P(PartialFaults, AKilledDaemonCostsTheSurvivorsNothing) {
    Cluster cluster({.nodes = 4});
    auto trainers = cluster.trainers(8, flags());
    let_step(trainers[0], 5 + random_.below(20), cluster);
    cluster.daemon(3).signal(SIGKILL);
    ASSERT_TRUE(cluster.daemon(3).wait(soon()));
    for (size_t rank = 0; rank < 6; ++rank) let_step(trainers[rank], 50, cluster);
    for (const size_t rank : {6U, 7U}) trainers[rank].signal(SIGKILL);
    expect_nothing_lost(trainers, {0, 1, 2, 3, 4, 5}, cluster);
}

TEST_P(PartialFaults, TrainersOfARestartedDaemonTakeTheCurrentModel) {
    Cluster cluster({.nodes = 2});
    auto trainers = cluster.trainers(4, flags());
    let_step(trainers[0], 5 + random_.below(20), cluster);
    cluster.daemon(1).signal(SIGKILL);
    ASSERT_TRUE(cluster.daemon(1).wait(soon()));
    let_step(trainers[0], 20, cluster);
    cluster.start_daemon(1);
    for (const size_t rank : {2U, 3U}) {
        for (int models = 0; models < 2; ++models)
            ASSERT_TRUE(trainers[rank].wait_for("model at ", soon()))
                << "worker " << rank << " last said: "
                << (trainers[rank].lines().empty() ? "" : trainers[rank].lines().back());
        let_step(trainers[rank], 20, cluster);
    }
    let_step(trainers[0], 20, cluster);
    expect_nothing_lost(trainers, {0, 1, 2, 3}, cluster);
}

TEST_P(PartialFaults, AFrozenDaemonIsExcludedAndComesBackWhenItWakes) {
    Cluster cluster({.nodes = 3});
    auto trainers = cluster.trainers(6, flags());
    let_step(trainers[0], 5 + random_.below(20), cluster);
    cluster.daemon(2).signal(SIGSTOP);
    for (const size_t rank : {0U, 1U, 2U, 3U}) let_step(trainers[rank], 80, cluster);
    cluster.daemon(2).signal(SIGCONT);
    let_step(trainers[4], 60, cluster);
    let_step(trainers[5], 60, cluster);
    let_step(trainers[0], 20, cluster);
    expect_nothing_lost(trainers, {0, 1, 2, 3, 4, 5}, cluster);
}

TEST_P(PartialFaults, ANodeThatIsCutOffFromTheControllerWaitsAndComesBack) {
    Cluster cluster({.nodes = 3, .cabled = 2});
    auto trainers = cluster.trainers(6, flags());
    let_step(trainers[0], 5 + random_.below(20), cluster);
    cluster.cable().cut();
    let_stop(trainers[4], trainers[0], cluster);
    for (const size_t rank : {0U, 1U, 2U, 3U}) let_step(trainers[rank], 20, cluster);
    cluster.cable().mend();
    for (const size_t rank : {4U, 5U}) {
        ASSERT_TRUE(let_say(trainers[rank], "model at ", cluster));
        let_step(trainers[rank], 20, cluster);
    }
    let_step(trainers[0], 20, cluster);
    expect_nothing_lost(trainers, {0, 1, 2, 3, 4, 5}, cluster);
}

TEST_P(PartialFaults, AControllerThatDiesAndReturnsLosesNothing) {
    Cluster cluster({.nodes = 2});
    auto trainers = cluster.trainers(4, flags());
    for (int round = 0; round < 3; ++round) {
        let_step(trainers[0], 5 + random_.below(20), cluster);
        cluster.kill_controller();
        cluster.start_controller();
        for (Process& trainer : trainers) let_step(trainer, 20, cluster);
    }
    expect_nothing_lost(trainers, {0, 1, 2, 3}, cluster);
    expect_no_line(trainers, "outcome");
}

// The controller is frozen for longer than it waits for any process, and than any process waits for
// it.
TEST_P(PartialFaults, AControllerThatIsFrozenLosesNothing) {
    Cluster cluster({.nodes = 3});
    auto trainers = cluster.trainers(6, flags());
    let_step(trainers[0], 5 + random_.below(20), cluster);
    cluster.freeze_controller();
    for (Process& trainer : trainers) let_step_from_now(trainer, 30, cluster);
    expect_nothing_lost(trainers, {0, 1, 2, 3, 4, 5}, cluster);
    expect_no_line(trainers, "outcome");
}

// The daemons remember what the controller had.
TEST_P(PartialFaults, AControllerWithoutItsJournalLosesNothing) {
    Cluster cluster({.nodes = 3});
    auto trainers = cluster.trainers(6, flags());
    for (int round = 0; round < 3; ++round) {
        let_step(trainers[0], 5 + random_.below(20), cluster);
        cluster.kill_controller();
        cluster.lose_journal();
        cluster.start_controller();
        for (Process& trainer : trainers) let_step(trainer, 20, cluster);
    }
    expect_nothing_lost(trainers, {0, 1, 2, 3, 4, 5}, cluster);
    expect_no_line(trainers, "outcome");
}

// Until the restarted trainer has the model, the view has the old place of its rank.
TEST_P(PartialFaults, ATrainerThatIsRestartedWhileNoControllerIsThereMissesNoRound) {
    Cluster cluster({.nodes = 3});
    auto trainers = cluster.trainers(6, flags(300));
    for (int round = 0; round < 4; ++round) {
        const size_t rank = 2 + random_.below(4);
        let_step(trainers[0], 5 + random_.below(10), cluster);
        cluster.kill_controller();
        if (random_.below(2) == 0) cluster.lose_journal();
        trainers[rank].signal(SIGKILL);
        ASSERT_TRUE(trainers[rank].wait(soon()));
        trainers[rank] = start_again(cluster, rank / 2, rank, 6, flags(300));
        cluster.start_controller();
        ASSERT_TRUE(let_say(trainers[rank], "model at ", cluster));
        let_step(trainers[rank], 10, cluster);
    }
    expect_nothing_lost(trainers, {0, 1, 2, 3, 4, 5}, cluster);
}

// Random faults happen at random moments, several times.
TEST_P(PartialFaults, AStormLosesNothingOfTheRest) {
    Cluster cluster({.nodes = 3, .controller_flags = {"--stopped-wait-ms", "300"}});
    auto trainers = cluster.trainers(6, flags());
    storm(trainers, cluster, random_, 8, flags());
    for (Process& trainer : trainers) let_step(trainer, 20, cluster);
    // Every trainer that was frozen has had time to be told, and has the current model.
    for (Process& trainer : trainers) let_step(trainer, 60, cluster);
    expect_nothing_lost(trainers, {0, 1, 2, 3, 4, 5}, cluster);
}

}  // namespace
}  // namespace pace::cluster
