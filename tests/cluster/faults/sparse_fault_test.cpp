// Sparse fault tests: check what must hold when a process dies or freezes while top-k compression
// leaves out most of the gradients. No process hangs, and all replicas are equal bit for bit. The
// contributions of surviving workers are in the replicas or in residuals. Every test prints its
// seed.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ostream>
#include <utility>

#include <gtest/gtest.h>

#include "base/random.h"
#include "tests/cluster/harness/faults.h"
#include "tests/cluster/trainers/sparse_ledger.h"
#include "tests/simulated_gpu/simulated_gpu.h"

namespace pace::cluster {
namespace {

struct Variant {
    const char* name;
    const char* compression;
    const char* hierarchy;
    const char* teams;
    bool on_gpu = false;
    uint64_t elements = 3000;
};

std::ostream& operator<<(std::ostream& out, const Variant& variant) {
    return out << variant.name;
}

// A round waits for a stopped trainer for stopped_wait_ms, which is 300 in these tests. The rest is
// a guess at what a busy machine needs under a sanitizer.
constexpr uint64_t kFreezePauseMaxUs = 5'000'000;

// Returns the time on the clock of the trainers' lines.
uint64_t now_us() {
    return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(
                                     std::chrono::steady_clock::now().time_since_epoch())
                                     .count());
}

// Returns the longest time from one step to the next, from `since_us` on, in the lines read so far.
uint64_t longest_pause_us(const Process& trainer, uint64_t since_us) {
    uint64_t longest = 0;
    uint64_t before = since_us;
    for (const std::string& line : trainer.lines()) {
        unsigned long made = 0;
        const bool is_step = std::sscanf(line.c_str(), "step %*u %lu", &made) == 1;
        if (is_step && made > since_us)
            longest = std::max(longest, made - std::exchange(before, made));
    }
    return longest;
}

class SparseFaults : public testing::TestWithParam<Variant> {
  protected:
    // Trainers and daemons find the simulated GPU. A process that does not ask for a GPU does not
    // see it.
    static void SetUpTestSuite() {
        simulated_gpu::set_environment();
        setenv("PACED_PLUGINS", simulated_gpu::kPlugins, 1);
    }
    static std::vector<std::string> flags(uint64_t elements = GetParam().elements,
                                          uint64_t step_us = 500) {
        return {"--mode",        "sparse",
                "--compression", GetParam().compression,
                "--hierarchy",   GetParam().hierarchy,
                "--teams",       GetParam().teams,
                "--elements",    std::to_string(elements),
                "--step-us",     std::to_string(step_us),
                "--on-gpu",      GetParam().on_gpu ? "1" : "0",
                "--connect-ms",  "1000"};
    }
    static std::vector<std::string> saving() {
        auto with = flags();
        with.insert(with.end(), {"--save", "1"});
        return with;
    }
    static SparseLedger ledger(uint32_t world, uint64_t elements = GetParam().elements) {
        return SparseLedger(world, elements, std::string(GetParam().compression) == "topka");
    }

    // Asks the trainer to leave, or kills it. The trainer is gone when this function returns.
    static void end(std::vector<Process>& trainers, uint32_t rank, int signal,
                    SparseLedger& ledger) {
        trainers[rank].signal(signal);
        ledger.bury(rank, trainers[rank], signal == SIGKILL);
    }

    base::Random random_{test_seed()};
};

INSTANTIATE_TEST_SUITE_P(Compressions, SparseFaults,
                         testing::Values(Variant{"SparDL", "spardl", "node", "1"},
                                         Variant{"Flat", "spardl", "flat", "1"},
                                         Variant{"TwoTeams", "spardl", "flat", "2"},
                                         Variant{"ChosenTeams", "spardl", "node", "0"},
                                         Variant{"TopkA", "topka", "node", "1"},
                                         Variant{"OkTopk", "oktopk", "node", "1"},
                                         // There are so many elements that they are cut on the GPU.
                                         Variant{"OnGpu", "spardl", "node", "1", true, 66000}),
                         [](const auto& variant) { return std::string(variant.param.name); });

TEST_P(SparseFaults, WithoutAnyNothingIsLost) {
    Cluster cluster({.nodes = 3});
    auto trainers = cluster.trainers(6, flags());
    for (Process& trainer : trainers) let_step(trainer, 30, cluster);
    const std::string counters = cluster.pacectl(0, {"daemon", "--json"});
    EXPECT_EQ(counters.find("\"top_k_on_device\": 0") == std::string::npos, GetParam().on_gpu);
    ledger(6).expect_nothing_lost(trainers, {0, 1, 2, 3, 4, 5}, cluster);
}

TEST_P(SparseFaults, AKilledTrainerCostsTheOthersNothing) {
    Cluster cluster({.nodes = 2});
    auto trainers = cluster.trainers(4, flags());
    SparseLedger ledger = this->ledger(4);
    let_step(trainers[0], 5 + random_.below(20), cluster);
    end(trainers, 3, SIGKILL, ledger);
    for (const size_t rank : {0U, 1U, 2U}) let_step(trainers[rank], 50, cluster);
    ledger.expect_nothing_lost(trainers, {0, 1, 2}, cluster);
}

// The node's residual goes to another node, though no worker asked to leave.
TEST_P(SparseFaults, ANodesLastTrainersAreKilled) {
    Cluster cluster({.nodes = 3});
    auto trainers = cluster.trainers(6, flags());
    SparseLedger ledger = this->ledger(6);
    let_step(trainers[0], 5 + random_.below(20), cluster);
    for (const uint32_t rank : {4U, 5U}) trainers[rank].signal(SIGKILL);
    for (const uint32_t rank : {4U, 5U}) ledger.bury(rank, trainers[rank], true);
    for (const size_t rank : {0U, 1U, 2U, 3U}) let_step(trainers[rank], 50, cluster);
    ledger.expect_nothing_lost(trainers, {0, 1, 2, 3}, cluster);
}

TEST_P(SparseFaults, ARestartedTrainerGetsTheCurrentModelAndGoesOn) {
    Cluster cluster({.nodes = 2});
    auto trainers = cluster.trainers(4, flags());
    SparseLedger ledger = this->ledger(4);
    for (int i = 0; i < 3; ++i) {
        const auto rank = static_cast<uint32_t>(1 + random_.below(3));
        let_step(trainers[0], 10 + random_.below(20), cluster);
        end(trainers, rank, SIGKILL, ledger);
        let_step(trainers[0], random_.below(20), cluster);
        trainers[rank] = start_again(cluster, rank / 2, rank, 4, flags());
        const auto model = let_say(trainers[rank], "model at ", cluster);
        ASSERT_TRUE(model);
        EXPECT_GE(std::stoull(*model), 5U);
        let_step(trainers[rank], 20, cluster);
    }
    ledger.expect_nothing_lost(trainers, {0, 1, 2, 3}, cluster);
}

// The trainer may be back before any process has noticed its death.
TEST_P(SparseFaults, ATrainerAloneOnItsNodeIsRestarted) {
    Cluster cluster({.nodes = 4});
    auto trainers = cluster.trainers(4, flags());
    SparseLedger ledger = this->ledger(4);
    for (int i = 0; i < 4; ++i) {
        const auto rank = static_cast<uint32_t>(1 + random_.below(3));
        let_step(trainers[0], 5 + random_.below(20), cluster);
        end(trainers, rank, SIGKILL, ledger);
        trainers[rank] = start_again(cluster, rank, rank, 4, flags());
        ASSERT_TRUE(let_say(trainers[rank], "model at ", cluster));
        let_step(trainers[rank], 10, cluster);
    }
    ledger.expect_nothing_lost(trainers, {0, 1, 2, 3}, cluster);
}

TEST_P(SparseFaults, ATrainerIsRestartedWhileNoControllerIsThere) {
    Cluster cluster({.nodes = 4});
    auto trainers = cluster.trainers(4, flags());
    SparseLedger ledger = this->ledger(4);
    for (int i = 0; i < 3; ++i) {
        const auto rank = static_cast<uint32_t>(1 + random_.below(3));
        let_step(trainers[0], 5 + random_.below(10), cluster);
        cluster.kill_controller();
        if (random_.below(2) == 0) cluster.lose_journal();
        end(trainers, rank, SIGKILL, ledger);
        // The trainer is started on its node, or on another one.
        trainers[rank] = start_again(cluster, (rank + random_.below(2)) % 4, rank, 4, flags());
        cluster.start_controller();
        ASSERT_TRUE(let_say(trainers[rank], "model at ", cluster));
        let_step(trainers[rank], 10, cluster);
    }
    ledger.expect_nothing_lost(trainers, {0, 1, 2, 3}, cluster);
}

TEST_P(SparseFaults, WhatALeaverOwesIsHandedOverAndItComesBack) {
    Cluster cluster({.nodes = 3});
    auto trainers = cluster.trainers(6, flags());
    SparseLedger ledger = this->ledger(6);
    for (int i = 0; i < 5; ++i) {
        const auto rank = static_cast<uint32_t>(2 + random_.below(4));
        let_step(trainers[0], 5 + random_.below(10), cluster);
        end(trainers, rank, SIGUSR1, ledger);
        EXPECT_EQ(trainers[rank].wait(soon()), 0) << cluster.logs();
        if (random_.below(2) == 0) let_step(trainers[0], random_.below(20), cluster);
        trainers[rank] = start_again(cluster, random_.below(3), rank, 6, flags());
        ASSERT_TRUE(let_say(trainers[rank], "joined", cluster));
    }
    for (Process& trainer : trainers) let_step(trainer, 20, cluster);
    ledger.expect_nothing_lost(trainers, {0, 1, 2, 3, 4, 5}, cluster);
}

// A node that has just received a transfer leaves as well. Views follow each other quickly.
TEST_P(SparseFaults, NodesThatLeaveTogetherHandEverythingOver) {
    Cluster cluster({.nodes = 4});
    const uint64_t elements = std::max<uint64_t>(GetParam().elements, 20000);
    auto trainers = cluster.trainers(4, flags(elements, 0));
    SparseLedger ledger = this->ledger(4, elements);
    let_step(trainers[0], 5 + random_.below(10), cluster);
    for (const uint32_t rank : {2U, 3U, 1U}) {
        trainers[rank].signal(SIGUSR1);
        if (random_.below(2) == 0) let_step(trainers[0], random_.below(3), cluster);
    }
    for (const uint32_t rank : {1U, 2U, 3U}) ledger.bury(rank, trainers[rank], false);
    let_step(trainers[0], 10, cluster);
    ledger.expect_nothing_lost(trainers, {0}, cluster);
}

TEST_P(SparseFaults, AFrozenTrainerIsNeverAReasonForAnotherToHang) {
    Cluster cluster({.nodes = 2, .controller_flags = {"--stopped-wait-ms", "300"}});
    auto trainers = cluster.trainers(4, flags());
    let_step(trainers[0], 5 + random_.below(20), cluster);
    const uint64_t frozen = now_us();
    trainers[2].signal(SIGSTOP);
    for (const size_t rank : {0U, 1U, 3U}) {
        let_step_from_now(trainers[rank], 50, cluster);
        EXPECT_LT(longest_pause_us(trainers[rank], frozen), kFreezePauseMaxUs)
            << "worker " << rank << "\n"
            << cluster.logs();
    }
    trainers[2].signal(SIGCONT);
    // The trainer may have lines from before in its pipe.
    let_step(trainers[2], 60, cluster);
    let_step(trainers[0], 20, cluster);
    ledger(4).expect_nothing_lost(trainers, {0, 1, 2, 3}, cluster);
}

TEST_P(SparseFaults, AllTrainersOfANodeAreFrozenAndComeBack) {
    Cluster cluster({.nodes = 3, .controller_flags = {"--stopped-wait-ms", "300"}});
    auto trainers = cluster.trainers(6, flags());
    let_step(trainers[0], 5 + random_.below(20), cluster);
    for (const size_t rank : {2U, 3U}) trainers[rank].signal(SIGSTOP);
    for (const size_t rank : {0U, 1U, 4U, 5U}) let_step(trainers[rank], 50, cluster);
    for (const size_t rank : {2U, 3U}) trainers[rank].signal(SIGCONT);
    for (const size_t rank : {2U, 3U}) let_step(trainers[rank], 60, cluster);
    let_step(trainers[0], 20, cluster);
    ledger(6).expect_nothing_lost(trainers, {0, 1, 2, 3, 4, 5}, cluster);
}

TEST_P(SparseFaults, AKilledDaemonTakesOnlyItsOwnDebtsAlong) {
    Cluster cluster({.nodes = 4});
    auto trainers = cluster.trainers(8, saving());
    SparseLedger ledger = this->ledger(8);
    let_step(trainers[0], 5 + random_.below(20), cluster);
    cluster.daemon(3).signal(SIGKILL);
    ASSERT_TRUE(cluster.daemon(3).wait(soon()));
    for (size_t rank = 0; rank < 6; ++rank) let_step(trainers[rank], 50, cluster);
    ledger.lose({6, 7}, trainers[0], true);
    for (const uint32_t rank : {6U, 7U}) {
        EXPECT_TRUE(trainers[rank].wait_for("lost ", soon())) << cluster.logs();
        end(trainers, rank, SIGKILL, ledger);
    }
    ledger.expect_nothing_lost(trainers, {0, 1, 2, 3, 4, 5}, cluster);
}

TEST_P(SparseFaults, TwoDaemonsAreKilledInOneExchange) {
    Cluster cluster({.nodes = 5});
    auto trainers = cluster.trainers(10, saving());
    SparseLedger ledger = this->ledger(10);
    let_step(trainers[0], 5 + random_.below(20), cluster);
    for (const size_t node : {3U, 4U}) cluster.daemon(node).signal(SIGKILL);
    for (const size_t node : {3U, 4U}) ASSERT_TRUE(cluster.daemon(node).wait(soon()));
    for (size_t rank = 0; rank < 6; ++rank) let_step(trainers[rank], 50, cluster);
    ledger.lose({6, 7, 8, 9}, trainers[0], true);
    for (const uint32_t rank : {6U, 7U, 8U, 9U}) {
        EXPECT_TRUE(trainers[rank].wait_for("lost ", soon())) << cluster.logs();
        end(trainers, rank, SIGKILL, ledger);
    }
    ledger.expect_nothing_lost(trainers, {0, 1, 2, 3, 4, 5}, cluster);
}

TEST_P(SparseFaults, TrainersOfARestartedDaemonTakeTheCurrentModel) {
    Cluster cluster({.nodes = 2});
    auto trainers = cluster.trainers(4, saving());
    SparseLedger ledger = this->ledger(4);
    let_step(trainers[0], 5 + random_.below(20), cluster);
    cluster.daemon(1).signal(SIGKILL);
    ASSERT_TRUE(cluster.daemon(1).wait(soon()));
    let_step(trainers[0], 40, cluster);
    ledger.lose({2, 3}, trainers[0], true);
    cluster.start_daemon(1);
    for (const size_t rank : {2U, 3U}) {
        for (int models = 0; models < 2; ++models)
            ASSERT_TRUE(trainers[rank].wait_for("model at ", soon()))
                << "worker " << rank << " last said: " << trainers[rank].lines().back();
        let_step(trainers[rank], 20, cluster);
    }
    let_step(trainers[0], 20, cluster);
    ledger.expect_nothing_lost(trainers, {0, 1, 2, 3}, cluster);
}

TEST_P(SparseFaults, AFrozenDaemonIsExcludedAndComesBackWithItsDebts) {
    Cluster cluster({.nodes = 3});
    auto trainers = cluster.trainers(6, flags());
    SparseLedger ledger = this->ledger(6);
    let_step(trainers[0], 5 + random_.below(20), cluster);
    cluster.daemon(2).signal(SIGSTOP);
    for (const size_t rank : {0U, 1U, 2U, 3U}) let_step(trainers[rank], 80, cluster);
    ledger.lose({4, 5}, trainers[0], false);
    cluster.daemon(2).signal(SIGCONT);
    for (const size_t rank : {4U, 5U}) let_step(trainers[rank], 60, cluster);
    let_step(trainers[0], 20, cluster);
    ledger.expect_nothing_lost(trainers, {0, 1, 2, 3, 4, 5}, cluster);
}

TEST_P(SparseFaults, AControllerThatDiesAndReturnsLosesNothing) {
    Cluster cluster({.nodes = 2});
    auto trainers = cluster.trainers(4, flags());
    for (int round = 0; round < 3; ++round) {
        let_step(trainers[0], 5 + random_.below(20), cluster);
        cluster.kill_controller();
        cluster.start_controller();
        for (Process& trainer : trainers) let_step(trainer, 20, cluster);
    }
    ledger(4).expect_nothing_lost(trainers, {0, 1, 2, 3}, cluster);
    expect_no_line(trainers, "outcome");
}

// The controller is frozen for longer than it waits for any process, and than any process waits for
// it.
TEST_P(SparseFaults, AControllerThatIsFrozenLosesNothing) {
    Cluster cluster({.nodes = 3});
    auto trainers = cluster.trainers(6, flags());
    let_step(trainers[0], 5 + random_.below(20), cluster);
    cluster.freeze_controller();
    for (Process& trainer : trainers) let_step_from_now(trainer, 30, cluster);
    ledger(6).expect_nothing_lost(trainers, {0, 1, 2, 3, 4, 5}, cluster);
    expect_no_line(trainers, "outcome");
}

// Random faults happen at random moments, several times.
TEST_P(SparseFaults, AStormLosesNothing) {
    Cluster cluster({.nodes = 3, .controller_flags = {"--stopped-wait-ms", "300"}});
    auto trainers = cluster.trainers(6, flags());
    SparseLedger ledger = this->ledger(6);
    storm(trainers, cluster, random_, 8, [&](size_t rank) {
        const bool leaves = random_.below(2) == 0;
        if (leaves) trainers[rank].signal(SIGCONT);
        const auto who = static_cast<uint32_t>(rank);
        end(trainers, who, leaves ? SIGUSR1 : SIGKILL, ledger);
        trainers[rank] = start_again(cluster, random_.below(3), rank, 6, flags());
        ASSERT_TRUE(let_say(trainers[rank], "joined", cluster));
    });
    // Every trainer that was frozen has been told, and has the current model. It is in rounds that
    // the others reached without it.
    uint64_t newest = 0;
    for (Process& trainer : trainers) newest = std::max(newest, newest_round(trainer));
    for (Process& trainer : trainers)
        while (!HasFatalFailure() && newest_round(trainer) < newest + 50)
            let_step(trainer, 1, cluster);
    ledger.expect_nothing_lost(trainers, {0, 1, 2, 3, 4, 5}, cluster);
}

}  // namespace
}  // namespace pace::cluster
