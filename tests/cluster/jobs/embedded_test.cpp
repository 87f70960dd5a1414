// The daemon as a library: trainers host a daemon in their own process.
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

#include "capi/testing/calls.h"
#include "tests/cluster/harness/cluster.h"
#include "tests/cluster/harness/worker.h"

namespace pace::cluster {
namespace {

const std::string kLibrary = "PACE_LIBPACED=" LIBPACED;

// The path of the library is set for this process once, before the library is loaded.
class Embedded : public testing::Test {
  protected:
    static void SetUpTestSuite() { setenv("PACE_LIBPACED", LIBPACED, 1); }

    Worker open(const std::string& job, uint32_t rank, uint32_t world,
                const std::string& endpoint = "embedded:") const {
        Worker worker({.endpoint = endpoint, .job = job, .rank = rank, .world = world});
        EXPECT_EQ(worker.opened(), PACE_OK) << worker.complaint();
        return worker;
    }
};

TEST_F(Embedded, ATrainerAloneNeedsNoDaemon) {
    Cluster none({.nodes = 0, .controller = false});
    for (const char* mode : {"reduce", "average"}) {
        Process trainer({TRAINER, "--endpoint", "embedded:", "--mode", mode, "--steps", "50"},
                        none.directory() + "/trainer.log", {kLibrary});
        EXPECT_TRUE(trainer.wait_for("done", soon())) << none.logs();
        EXPECT_EQ(trainer.wait(soon()), 0) << none.logs();
    }
}

TEST_F(Embedded, TrainersThatHostTheirDaemonsFormACluster) {
    Cluster cluster({.nodes = 0});
    std::vector<Process> trainers;
    for (int rank = 0; rank < 3; ++rank) {
        const std::string file = cluster.directory() + "/" + std::to_string(rank) + ".toml";
        std::ofstream(file) << "controller = \"" << cluster.controller_endpoint() << "\"\n"
                            << "data_interface = \"lo\"\n"
                            << "name = \"host" << rank << "\"\n";
        trainers.emplace_back(
            std::vector<std::string>{TRAINER, "--endpoint", "embedded:" + file, "--world", "3",
                                     "--rank", std::to_string(rank), "--steps", "30", "--elements",
                                     "30000"},
            cluster.directory() + "/trainers.log", std::vector<std::string>{kLibrary});
    }
    for (Process& trainer : trainers) EXPECT_EQ(trainer.wait(soon()), 0) << cluster.logs();
}

TEST_F(Embedded, ATrainerBesideAStandaloneDaemonOfTheSameClusterWorksWithIt) {
    Cluster cluster({.nodes = 1});
    const std::string file = cluster.directory() + "/host.toml";
    std::ofstream(file) << "controller = \"" << cluster.controller_endpoint() << "\"\n"
                        << "data_interface = \"lo\"\n";
    Process hosts({TRAINER, "--endpoint", "embedded:" + file, "--world", "2", "--rank", "0"},
                  cluster.directory() + "/trainers.log", {kLibrary});
    Process client = cluster.trainer(0, {"--world", "2", "--rank", "1"});
    EXPECT_EQ(hosts.wait(soon()), 0) << cluster.logs();
    EXPECT_EQ(client.wait(soon()), 0) << cluster.logs();
}

TEST_F(Embedded, TwoJobsInOneProcessDoNotMeet) {
    Worker first = open("first", 0, 1);
    Worker second = open("second", 0, 1);
    ASSERT_FALSE(HasFailure());
    const float* one = first.add_floats(1000, 1);
    const float* two = second.add_floats(1000, 2);
    const pace_request request = first.reduce();
    second.finish(second.reduce());
    first.finish(request);
    EXPECT_EQ(one[999], 1);
    EXPECT_EQ(two[999], 2);
    pace_request stray{};
    EXPECT_EQ(pace_reduce(first.session(), Slices(second.buffers().data(), 1), 1, nullptr, &stray,
                          nullptr),
              PACE_E_HANDLE);
}

TEST_F(Embedded, TwoRanksOfOneJobInOneProcessExchange) {
    Worker first = open("pair", 0, 2);
    Worker second = open("pair", 1, 2);
    ASSERT_FALSE(HasFailure());
    const float* one = first.add_floats(1000, 1);
    const float* two = second.add_floats(1000, 2);
    const pace_request early = first.reduce();
    EXPECT_EQ(first.wait(early, 0), PACE_TIMEOUT);
    const pace_request late = second.reduce();
    first.finish(early);
    second.finish(late);
    EXPECT_EQ(one[999], 3);
    EXPECT_EQ(two[0], 3);
    pace_session_info info = PACE_SESSION_INFO_INIT;
    pace_session_info other = PACE_SESSION_INFO_INIT;
    EXPECT_EQ(pace_session_get_info(first.session(), &info, nullptr), PACE_OK);
    EXPECT_EQ(pace_session_get_info(second.session(), &other, nullptr), PACE_OK);
    EXPECT_EQ(info.generation, other.generation) << "one endpoint, one daemon";
}

TEST_F(Embedded, AConfigurationThatIsWrongIsRefusedWithItsPlace) {
    Cluster none({.nodes = 0, .controller = false});
    const std::string file = none.directory() + "/bad.toml";
    std::ofstream(file) << "thread = 3\n";
    const Worker worker({.endpoint = "embedded:" + file});
    EXPECT_EQ(worker.opened(), PACE_E_DAEMON_GONE);
    EXPECT_NE(worker.complaint().find("thread"), std::string::npos) << worker.complaint();
    const Worker absent({.endpoint = "embedded:" + none.directory() + "/absent.toml"});
    EXPECT_LT(absent.opened(), 0);
    EXPECT_NE(absent.complaint().find("absent.toml"), std::string::npos) << absent.complaint();
}

// The controller refuses a second daemon of the same name. A daemon in a process of its own writes
// this refusal to its log.
TEST_F(Embedded, StandardErrorIsTheHosts) {
    Cluster cluster({.nodes = 1});
    const std::string file = cluster.directory() + "/host.toml";
    std::ofstream(file) << "controller = \"" << cluster.controller_endpoint() << "\"\n"
                        << "data_interface = \"lo\"\n"
                        << "name = \"node0\"\n";
    const std::string log = cluster.directory() + "/host-stderr";
    Process host({TRAINER, "--endpoint", "embedded:" + file}, log, {kLibrary});
    const auto outcome = host.wait_for("outcome ", soon());
    ASSERT_TRUE(outcome) << cluster.logs();
    EXPECT_NE(outcome->find("node0"), std::string::npos) << *outcome;
    ASSERT_TRUE(host.wait(soon()));
    std::ifstream stream(log);
    const std::string text((std::istreambuf_iterator<char>(stream)), {});
    EXPECT_EQ(text, "");
}

// Other threads may be reading the environment while the daemon's library is loaded.
TEST_F(Embedded, TheHostsEnvironmentIsNotMovedUnderItsReaders) {
    if (std::getenv("UCX_MEM_EVENTS") != nullptr)
        GTEST_SKIP() << "the library was loaded by a test before this one";
    char** const before = environ;
    std::vector<std::string> entries;
    for (char** entry = before; *entry != nullptr; ++entry) entries.emplace_back(*entry);
    const Worker worker = open("environment", 0, 1);
    const char* hooks = std::getenv("UCX_MEM_EVENTS");
    ASSERT_NE(hooks, nullptr);
    EXPECT_STREQ(hooks, "n");
    EXPECT_NE(environ, before) << "the array that readers may be in was changed";
    for (size_t i = 0; i < entries.size(); ++i) EXPECT_EQ(entries[i], before[i]);
    EXPECT_EQ(before[entries.size()], nullptr);
}

}  // namespace
}  // namespace pace::cluster
