// Exchange tests: the results that trainers get when no process fails.
#include <gtest/gtest.h>

#include "tests/cluster/harness/cluster.h"

namespace pace::cluster {
namespace {

void expect_done(std::vector<Process>& trainers, const Cluster& cluster) {
    for (Process& trainer : trainers) EXPECT_EQ(trainer.wait(soon()), 0) << cluster.logs();
}

TEST(OneNode, ReducesExactlyForEveryWorldSize) {
    Cluster cluster({.nodes = 1, .controller = false});
    for (const size_t world : {1U, 2U, 3U, 5U, 8U}) {
        auto trainers = cluster.trainers(
            world, {"--job", "reduce-" + std::to_string(world), "--steps", "20", "--tensors", "3"});
        expect_done(trainers, cluster);
    }
}

TEST(OneNode, AveragesWithWhoeverIsReady) {
    Cluster cluster({.nodes = 1, .controller = false});
    for (const size_t world : {1U, 2U, 4U, 7U}) {
        auto trainers = cluster.trainers(
            world,
            {"--mode", "average", "--job", "average-" + std::to_string(world), "--steps", "30"});
        expect_done(trainers, cluster);
    }
}

TEST(FourNodes, ReduceExactlyForSmallAndLargeBuffers) {
    Cluster cluster({.nodes = 4});
    for (const char* elements : {"1", "1000", "300001"}) {
        auto trainers = cluster.trainers(8, {"--job", std::string("reduce-") + elements, "--steps",
                                             "10", "--elements", elements, "--tensors", "2"});
        expect_done(trainers, cluster);
    }
}

TEST(FourNodes, AverageWithConstantAndDynamicWeights) {
    Cluster cluster({.nodes = 4});
    const std::vector<std::vector<std::string>> variants{
        {"--weights", "constant"},
        {"--weights", "dynamic"},
        {"--weights", "dynamic", "--missing", "initial"}};
    for (size_t i = 0; i < variants.size(); ++i) {
        std::vector<std::string> flags{
            "--mode",    "average", "--job",      "average-" + std::to_string(i),
            "--steps",   "50",      "--elements", "50000",
            "--step-us", "500"};
        flags.insert(flags.end(), variants[i].begin(), variants[i].end());
        auto trainers = cluster.trainers(8, flags);
        expect_done(trainers, cluster);
    }
}

TEST(FourNodes, AverageInGroupsOfEveryPolicy) {
    Cluster cluster({.nodes = 4});
    for (const char* policy :
         {"prague-random", "prague-smart", "ad-psgd", "full", "prague-static"}) {
        auto trainers =
            cluster.trainers(8, {"--mode", "average", "--policy", policy, "--job", policy,
                                 "--steps", "50", "--elements", "50000", "--step-us", "500"});
        expect_done(trainers, cluster);
    }
}

TEST(FourNodes, EndWithTheSameModelEverywhere) {
    Cluster cluster({.nodes = 3});
    std::vector<Process> trainers;
    // The workers are started by hand. One worker stays in the job until the others are done, so
    // that the job is whole for the last sync.
    for (size_t rank = 0; rank < 6; ++rank)
        trainers.push_back(
            cluster.trainer(rank / 2, {"--mode", "average", "--world", "6", "--rank",
                                       std::to_string(rank), "--steps", "20", "--hold", "1"}));
    std::string first;
    for (Process& trainer : trainers) {
        ASSERT_TRUE(trainer.wait_for("done", soon()))
            << cluster.state() << cluster.pacectl(0, {"daemon"}) << cluster.pacectl(1, {"daemon"})
            << cluster.pacectl(2, {"daemon"});
        std::string last;
        for (const std::string& line : trainer.lines()) {
            if (line.starts_with("model ") && !line.starts_with("model at")) last = line;
        }
        if (first.empty()) first = last;
        EXPECT_EQ(last, first);
    }
    EXPECT_FALSE(first.empty());
}

TEST(FourNodes, MoreNodesThanAPowerOfTwoAndUnevenlyFilled) {
    Cluster cluster({.nodes = 3});
    auto trainers = cluster.trainers(7, {"--steps", "15", "--elements", "20000"});
    expect_done(trainers, cluster);
}

TEST(Tools, ShowTheJobWhileItRuns) {
    Cluster cluster({.nodes = 2});
    auto trainers = cluster.trainers(
        4, {"--mode", "average", "--job", "shown", "--steps", "1000000", "--step-us", "2000"});
    ASSERT_TRUE(trainers.front().wait_for("step 20", soon())) << cluster.logs();
    const std::string json = cluster.pacectl(0, {"status", "--json"});
    EXPECT_NE(json.find("\"shown\""), std::string::npos) << json;
    const std::string plain = cluster.pacectl(1, {"status"});
    EXPECT_NE(plain.find("shown"), std::string::npos) << plain;
    const std::string jobs = cluster.pacectl(0, {"job", "list"});
    EXPECT_NE(jobs.find("shown"), std::string::npos) << jobs;
}

}  // namespace
}  // namespace pace::cluster
