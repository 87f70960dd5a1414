// Tests of the way to the controller: a controller that is not there yet, and one that asks for
// keys.
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include <gtest/gtest.h>

#include "base/testing/temporary_folder.h"
#include "tests/cluster/harness/cluster.h"
#include "tests/cluster/harness/worker.h"

namespace pace::cluster {
namespace {

TEST(MissingController, IsToldAndTheDaemonGoesOnOnceItAppears) {
    Cluster cluster({.nodes = 1});
    cluster.kill_controller();
    // A daemon that has never seen its controller serves nevertheless.
    cluster.daemon(0).signal(SIGTERM);
    ASSERT_EQ(cluster.daemon(0).wait(soon()), 0) << cluster.logs();
    cluster.start_daemon(0);

    const Worker hasty({.endpoint = cluster.endpoint(0), .connect_ms = 100});
    EXPECT_EQ(hasty.opened(), PACE_E_DAEMON_GONE);
    EXPECT_NE(hasty.complaint().find("waiting for its controller"), std::string::npos)
        << hasty.complaint();
    const Worker patient({.endpoint = cluster.endpoint(0), .connect_ms = 5500});
    EXPECT_EQ(patient.opened(), PACE_E_NO_CONTROLLER);
    EXPECT_NE(patient.complaint().find("`controller`"), std::string::npos) << patient.complaint();

    EXPECT_NE(cluster.pacectl(0, {"daemon"}).find("does not answer"), std::string::npos);
    const std::string findings = cluster.pacectl(0, {"doctor"}, 1);
    EXPECT_NE(findings.find("FAIL  controller"), std::string::npos) << findings;
    EXPECT_NE(findings.find("is pace-controller running"), std::string::npos) << findings;

    // One trainer waits while the controller comes. Another trainer comes later.
    Process waiting = cluster.trainer(0, {"--world", "2", "--connect-ms", "60000"});
    cluster.start_controller();
    Process later = cluster.trainer(0, {"--world", "2", "--rank", "1"});
    EXPECT_EQ(waiting.wait(soon()), 0) << cluster.logs();
    EXPECT_EQ(later.wait(soon()), 0) << cluster.logs();
}

// The command as the user nobody.
std::vector<std::string> as_nobody(std::vector<std::string> command) {
    std::vector<std::string> whole{"/usr/bin/setpriv", "--reuid=65534", "--regid=65534",
                                   "--clear-groups"};
    whole.insert(whole.end(), command.begin(), command.end());
    return whole;
}

// A folder of the user nobody's, as long as it lives.
class FolderOfNobody {
  public:
    FolderOfNobody() { EXPECT_EQ(chown(folder_.path().c_str(), 65534, 65534), 0); }

    std::string file(const std::string& name) const { return folder_.file(name); }
    // Returns the path of a copy that nobody owns.
    std::string copy(const std::string& from) const {
        std::string to = file(std::filesystem::path(from).filename());
        std::filesystem::copy_file(from, to);
        EXPECT_EQ(chown(to.c_str(), 65534, 65534), 0);
        return to;
    }

  private:
    base::testing::TemporaryFolder folder_;
};

// Whether this test can start a daemon as another user. If not, says why.
bool can_be_nobody(const std::string& log, std::string& why) {
    why = "only root starts a daemon as another user";
    if (geteuid() != 0) return false;
    Process possible(as_nobody({PACED, "--version"}), log);
    why = "another user cannot execute this build";
    return possible.wait(soon()) == 0;
}

// Starts a daemon as the user nobody. The controller tells of it, and nobody attaches.
void expect_nobody_is_kept_out(Cluster& cluster, const FolderOfNobody& folder,
                               const std::vector<std::string>& keys) {
    std::vector<std::string> command{PACED,    "--socket",     folder.file("guest.sock"),
                                     "--name", "guest",        "--socket-group",
                                     "",       "--controller", cluster.controller_endpoint()};
    command.insert(command.end(), keys.begin(), keys.end());
    Process guest(as_nobody(command), cluster.directory() + "/guest.log");
    EXPECT_TRUE(guest.wait_for("ready", soon())) << cluster.logs();
    EXPECT_TRUE(cluster.wait_until_said("controller", "another user of this machine", 1, soon()))
        << cluster.logs();
    EXPECT_EQ(cluster.pacectl(0, {"status"}).find("guest"), std::string::npos);
    guest.signal(SIGTERM);
    EXPECT_EQ(guest.wait(soon()), 0);
    Worker friendly({.endpoint = cluster.endpoint(0)});
    EXPECT_EQ(friendly.opened(), PACE_OK) << friendly.complaint();
}

TEST(ControllerWithoutKeys, HearsNoOtherUserOfItsMachine) {
    Cluster cluster({.nodes = 1});
    std::string why;
    if (!can_be_nobody(cluster.directory() + "/guest.log", why)) GTEST_SKIP() << why;
    expect_nobody_is_kept_out(cluster, FolderOfNobody(), {});
}

class Curve : public testing::Test {
  protected:
    void SetUp() override {
        std::string pattern = std::filesystem::temp_directory_path() / "pace-keys-XXXXXX";
        folder_ = mkdtemp(pattern.data());
        for (const char* name : {"controller", "node", "node1", "intruder"}) {
            Process keygen({PACECTL, "keygen", path(name)}, path("keygen.log"));
            ASSERT_EQ(keygen.wait(soon()), 0);
        }
        std::filesystem::create_directory(path("allowed"));
        std::filesystem::copy_file(path("node.public"), path("allowed/@node.public"));
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }

    std::string path(const std::string& name) const { return folder_ + "/" + name; }
    std::vector<std::string> keys_of(const std::string& name) const {
        return {"--curve-server-key-file", path("controller.public"), "--curve-secret-file",
                path(name + ".secret")};
    }
    Cluster::Options with_keys(size_t nodes) const {
        return {.nodes = nodes,
                .daemon_flags = keys_of("node"),
                .controller_flags = {"--curve-secret-file", path("controller.secret"),
                                     "--curve-allowed-dir", path("allowed")}};
    }

    std::string folder_;
};

TEST_F(Curve, ClusterTrainsEncrypted) {
    Cluster cluster(with_keys(2));
    auto trainers = cluster.trainers(4, {"--steps", "20", "--elements", "20000"});
    for (Process& trainer : trainers) EXPECT_EQ(trainer.wait(soon()), 0) << cluster.logs();
    const std::string status = cluster.pacectl(1, {"status"});
    EXPECT_NE(status.find(", encrypted"), std::string::npos) << status;
    auto averaging =
        cluster.trainers(4, {"--mode", "average", "--job", "average", "--steps", "20"});
    for (Process& trainer : averaging) EXPECT_EQ(trainer.wait(soon()), 0) << cluster.logs();
}

// Whoever knows the controller's public key could attach otherwise.
TEST_F(Curve, AControllerWithoutAListHearsNoOtherUserOfItsMachine) {
    Cluster cluster({.nodes = 1,
                     .daemon_flags = keys_of("node"),
                     .controller_flags = {"--curve-secret-file", path("controller.secret")}});
    std::string why;
    if (!can_be_nobody(cluster.directory() + "/guest.log", why)) GTEST_SKIP() << why;
    const FolderOfNobody folder;
    expect_nobody_is_kept_out(cluster, folder,
                              {"--curve-server-key-file", folder.copy(path("controller.public")),
                               "--curve-secret-file", folder.copy(path("intruder.secret"))});
}

// The command line of a daemon that is none of the cluster's.
std::vector<std::string> guest_of(Cluster& cluster, const std::string& socket,
                                  const std::vector<std::string>& keys) {
    std::vector<std::string> arguments{PACED,
                                       "--socket",
                                       socket,
                                       "--name",
                                       "guest",
                                       "--controller",
                                       cluster.controller_endpoint(),
                                       "--data-interface",
                                       "lo"};
    arguments.insert(arguments.end(), keys.begin(), keys.end());
    return arguments;
}

TEST_F(Curve, DaemonsWithoutAKnownKeyServeNobodyAndDisturbNobodyAndBothSidesSayWhy) {
    Cluster cluster(with_keys(1));
    struct Guest {
        std::vector<std::string> keys;
        std::string daemon_says;
        std::string controller_says;
    };
    const std::vector<Guest> guests{
        {{}, "it asks for keys", "it has no keys"},
        {keys_of("intruder"), "it does not let the key of", "its key is not in curve_allowed_dir"},
        {{"--curve-server-key-file", path("intruder.public"), "--curve-secret-file",
          path("node.secret")},
         "it does not have the key of",
         "it expects a controller with another key"}};
    for (const auto& [keys, daemon_says, controller_says] : guests) {
        const std::string socket = path("guest.sock");
        Process guest(guest_of(cluster, socket, keys), cluster.directory() + "/guest.log");
        ASSERT_TRUE(guest.wait_for("ready", soon())) << cluster.logs();
        const Deadline in_time = within(std::chrono::seconds(3));
        EXPECT_TRUE(cluster.wait_until_said("guest", daemon_says, 1, in_time)) << cluster.logs();
        EXPECT_TRUE(cluster.wait_until_said("controller", controller_says, 1, in_time))
            << cluster.logs();
        const Worker worker({.endpoint = "unix:" + socket, .connect_ms = 5500});
        EXPECT_EQ(worker.opened(), PACE_E_NO_CONTROLLER) << worker.complaint();
    }
    Worker friendly({.endpoint = cluster.endpoint(0)});
    ASSERT_EQ(friendly.opened(), PACE_OK) << friendly.complaint();
    friendly.add_floats(10, 1);
    friendly.finish(friendly.reduce());
    EXPECT_EQ(cluster.pacectl(0, {"status"}).find("guest"), std::string::npos);
}

TEST_F(Curve, ADaemonMayOnlyBeTheNodeWhoseKeyItHas) {
    Cluster cluster(with_keys(1));
    std::filesystem::copy_file(path("node1.public"), path("allowed/node1.public"));
    ASSERT_TRUE(cluster.wait_until_said("controller", "were read again", 1, soon()));
    struct Wrong {
        std::string key;
        std::string name;
        std::string both_say;
    };
    const std::vector<Wrong> wrong{{"node1", "guest", "its key is that of node node1"},
                                   {"node", "node1", "node node1 has a key of its own"}};
    for (const auto& [key, name, both_say] : wrong) {
        std::vector<std::string> arguments = guest_of(cluster, path("guest.sock"), keys_of(key));
        arguments.insert(arguments.end(), {"--name", name});
        Process guest(arguments, cluster.directory() + "/guest.log");
        ASSERT_TRUE(guest.wait_for("ready", soon())) << cluster.logs();
        EXPECT_TRUE(cluster.wait_until_said("guest", both_say, 1, soon())) << cluster.logs();
        EXPECT_TRUE(cluster.wait_until_said("controller", both_say, 1, soon())) << cluster.logs();
        EXPECT_EQ(cluster.pacectl(0, {"status"}).find(name), std::string::npos);
    }
    std::vector<std::string> arguments = guest_of(cluster, path("guest.sock"), keys_of("node1"));
    arguments.insert(arguments.end(), {"--name", "node1"});
    Process right(arguments, cluster.directory() + "/guest.log");
    ASSERT_TRUE(right.wait_for("ready", soon())) << cluster.logs();
    const Worker worker({.endpoint = "unix:" + path("guest.sock"), .connect_ms = 60'000});
    EXPECT_EQ(worker.opened(), PACE_OK) << worker.complaint();
}

TEST_F(Curve, AKeyThatIsRemovedEndsItsConnectionsAndTheOthersGoOn) {
    std::filesystem::copy_file(path("node1.public"), path("allowed/node1.public"));
    Cluster::Options options = with_keys(1);
    Cluster cluster(options);
    std::vector<std::string> arguments = guest_of(cluster, path("guest.sock"), keys_of("node1"));
    arguments.insert(arguments.end(), {"--name", "node1"});
    Process second(arguments, cluster.directory() + "/guest.log");
    ASSERT_TRUE(second.wait_for("ready", soon())) << cluster.logs();
    {
        Worker there({.endpoint = "unix:" + path("guest.sock"), .rank = 1, .world = 2});
        Worker here({.endpoint = cluster.endpoint(0), .rank = 0, .world = 2});
        ASSERT_EQ(here.opened(), PACE_OK) << here.complaint();
        ASSERT_EQ(there.opened(), PACE_OK) << there.complaint();
        std::filesystem::remove(path("allowed/node1.public"));
        EXPECT_TRUE(cluster.wait_until_said("controller", "its key was removed or replaced", 1,
                                            within(std::chrono::seconds(10))))
            << cluster.logs();
        // ZeroMQ connects again, and is refused at the door.
        EXPECT_TRUE(cluster.wait_until_said("guest", "does not let the key of", 1, soon()))
            << cluster.logs();
        here.add_floats(10, 1);
        here.finish(here.reduce());
    }
}

}  // namespace
}  // namespace pace::cluster
