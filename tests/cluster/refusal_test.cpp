// Bad input: each gets an error that says what, which value, and what to do; nothing else changes.
#include <gtest/gtest.h>

#include "cluster.h"

namespace pace::cluster {
namespace {

// The trainer's complaint, e.g. "PACE_E_TAKEN message".
std::string complaint(Process& trainer) {
    return trainer.wait_for("outcome ", soon()).value_or("(none)");
}

TEST(Refusals, ASecondWorkerOfTheSameRank) {
    Cluster cluster({.nodes = 2});
    Process first = cluster.trainer(0, {"--rank", "1", "--world", "4"});
    ASSERT_TRUE(first.wait_for("joined", soon())) << cluster.logs();
    Process second = cluster.trainer(1, {"--rank", "1", "--world", "4"});
    const std::string error = complaint(second);
    EXPECT_TRUE(error.starts_with("PACE_E_TAKEN")) << error;
    EXPECT_NE(error.find('1'), std::string::npos) << error;
    EXPECT_TRUE(first.running());
}

TEST(Refusals, AWorkerWithOtherOptionsThanTheJobs) {
    Cluster cluster({.nodes = 1, .controller = false});
    Process first = cluster.trainer(
        0, {"--mode", "average", "--rank", "0", "--world", "4", "--group-size", "3"});
    ASSERT_TRUE(first.wait_for("joined", soon())) << cluster.logs();
    Process second = cluster.trainer(
        0, {"--mode", "average", "--rank", "1", "--world", "4", "--group-size", "2"});
    const std::string error = complaint(second);
    EXPECT_TRUE(error.starts_with("PACE_E_MISMATCH")) << error;
    EXPECT_NE(error.find("group_size"), std::string::npos) << error;
}

TEST(Refusals, OptionsThatMakeNoSense) {
    Cluster cluster({.nodes = 1, .controller = false});
    Process alone = cluster.trainer(
        0, {"--mode", "average", "--rank", "0", "--world", "4", "--group-size", "1"});
    EXPECT_TRUE(complaint(alone).starts_with("PACE_E_INVALID"));
    Process large = cluster.trainer(
        0, {"--mode", "average", "--rank", "0", "--world", "4", "--group-size", "9"});
    const std::string error = complaint(large);
    EXPECT_TRUE(error.starts_with("PACE_E_INVALID")) << error;
    EXPECT_NE(error.find('9'), std::string::npos) << error;
    Process name = cluster.trainer(0, {"--job", "no spaces please", "--rank", "0", "--world", "2"});
    EXPECT_TRUE(complaint(name).starts_with("PACE_E_INVALID"));
    Process rank = cluster.trainer(0, {"--rank", "7", "--world", "2"});
    EXPECT_TRUE(complaint(rank).starts_with("PACE_E_INVALID"));
}

TEST(Refusals, WorkersThatDisagreeAboutTheirBuffers) {
    for (const size_t nodes : {1U, 2U}) {
        Cluster cluster({.nodes = nodes});
        Process first = cluster.trainer(0, {"--rank", "0", "--world", "2", "--elements", "100"});
        Process second =
            cluster.trainer(nodes - 1, {"--rank", "1", "--world", "2", "--elements", "200"});
        const std::string error = complaint(first);
        EXPECT_TRUE(error.starts_with("PACE_E_MISMATCH")) << error;
        const std::string other = complaint(second);
        EXPECT_TRUE(other.starts_with("PACE_E_MISMATCH")) << other;
    }
}

TEST(Refusals, AMissingDaemon) {
    Cluster cluster({.nodes = 0, .controller = false});
    Process lost({TRAINER, "--endpoint", "unix:" + cluster.directory() + "/nobody.sock"},
                 cluster.directory() + "/trainer.log");
    const std::string error = complaint(lost);
    EXPECT_TRUE(error.starts_with("PACE_E_NOT_FOUND")) << error;
    EXPECT_NE(error.find("nobody.sock"), std::string::npos) << error;
    EXPECT_NE(error.find("start paced"), std::string::npos) << error;
}

TEST(Refusals, MoreMemoryThanTheQuota) {
    Cluster cluster(
        {.nodes = 1, .controller = false, .daemon_flags = {"--client-bytes-max", "1MiB"}});
    Process greedy = cluster.trainer(0, {"--rank", "0", "--world", "1", "--elements", "1000000"});
    const std::string error = complaint(greedy);
    EXPECT_TRUE(error.starts_with("PACE_E_LIMIT")) << error;
    EXPECT_NE(error.find("client_bytes_max"), std::string::npos) << error;
    Process modest =
        cluster.trainer(0, {"--rank", "0", "--world", "1", "--elements", "1000", "--job", "other"});
    EXPECT_EQ(modest.wait(soon()), 0) << cluster.logs();
}

TEST(Refusals, ASecondDaemonOnTheSameSocketOrUnderTheSameName) {
    Cluster cluster({.nodes = 1});
    Process same_socket({PACED, "--socket", cluster.socket(0)},
                        cluster.directory() + "/second.log");
    EXPECT_EQ(same_socket.wait(soon()), 1);
    EXPECT_NE(cluster.logs().find("another paced serves"), std::string::npos) << cluster.logs();
    Process same_name({PACED, "--socket", cluster.directory() + "/other.sock", "--name", "node0",
                       "--controller", cluster.controller_endpoint(), "--data-interface", "lo"},
                      cluster.directory() + "/third.log");
    ASSERT_TRUE(same_name.wait_for("ready", soon())) << cluster.logs();
    Process unlucky = cluster.trainer(
        0, {"--endpoint", "unix:" + cluster.directory() + "/other.sock", "--world", "1"});
    const std::string error = complaint(unlucky);
    EXPECT_TRUE(error.starts_with("PACE_E_TAKEN")) << error;
}

}  // namespace
}  // namespace pace::cluster
