// Refusal tests: each bad input gets an error that gives the problem, the value, and the remedy.
// Nothing else changes.
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <gtest/gtest.h>

#include "tests/cluster/harness/cluster.h"

namespace pace::cluster {
namespace {

// Returns the trainer's complaint, e.g. "PACE_E_TAKEN message".
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
    EXPECT_NE(error.find("group.size"), std::string::npos) << error;
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

// Returns the output of a daemon that does not start.
std::string refusal_of(const std::vector<std::string>& flags) {
    Cluster cluster({.nodes = 0, .controller = false});
    std::vector<std::string> arguments{PACED, "--socket", cluster.directory() + "/a.sock"};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    Process daemon(std::move(arguments), cluster.directory() + "/daemon.log");
    EXPECT_EQ(daemon.wait(soon()), 1);
    return cluster.logs();
}

TEST(Refusals, AControllerElsewhereWithoutKeys) {
    const std::string said = refusal_of({"--controller", "tcp://controller.example:7411"});
    EXPECT_NE(said.find("set insecure = true"), std::string::npos) << said;
}

// Returns an interface that others can reach. Empty means that this machine has none.
std::string open_interface() {
    ifaddrs* list = nullptr;
    if (getifaddrs(&list) != 0) return {};
    std::string name;
    for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
        const bool reachable =
            (entry->ifa_flags & IFF_UP) != 0 && (entry->ifa_flags & IFF_LOOPBACK) == 0;
        if (reachable && entry->ifa_addr != nullptr && entry->ifa_addr->sa_family == AF_INET)
            name = entry->ifa_name;
    }
    freeifaddrs(list);
    return name;
}

TEST(Refusals, ADataPortThatOthersReachUnlessTheNetworkIsClosed) {
    const std::string interface = open_interface();
    if (interface.empty()) GTEST_SKIP() << "this machine has only loopback";
    Cluster cluster({.nodes = 0});
    const std::vector<std::string> flags{"--controller",     cluster.controller_endpoint(),
                                         "--data-interface", interface,
                                         "--data-transport", "tcp"};
    const std::string said = refusal_of(flags);
    EXPECT_NE(said.find("closed_network = true"), std::string::npos) << said;
    EXPECT_NE(said.find(interface), std::string::npos) << said;

    std::vector<std::string> arguments{PACED, "--socket", cluster.directory() + "/a.sock",
                                       "--closed-network"};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    Process daemon(std::move(arguments), cluster.directory() + "/daemon.log");
    EXPECT_TRUE(daemon.wait_for("ready", soon())) << cluster.logs();
}

}  // namespace
}  // namespace pace::cluster
