// Cluster findings: what doctor finds beyond this machine's limits: the cluster, the network, key
// files.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "base/unique_fd.h"
#include "service/pacectl/findings/cluster_findings.h"
#include "service/pacectl/findings/network_findings.h"

namespace pace::pacectl {
namespace {

constexpr uint64_t kNow = 1'700'000'000'000;

Facts healthy_cluster() {
    Facts facts;
    facts.machine.unix_ms = kNow;
    facts.daemon.status = Json::parse(R"({
      "version": "1.0.0", "journal": {"state": "writing"}, "events": [{"at_unix_ms": 1700000000000}],
      "nodes": [
        {"node": 1, "name": "a", "status": "alive", "version": "1.0.0", "zone": "r1", "nccl": "2.21.5"},
        {"node": 2, "name": "b", "status": "alive", "version": "1.0.0", "zone": "r1", "nccl": "2.21.5"},
        {"node": 3, "name": "c", "status": "alive", "version": "1.0.0", "zone": "r2", "nccl": ""}],
      "links": [
        {"from": 1, "to": 2, "mebibyte_ms": 1.0}, {"from": 2, "to": 1, "mebibyte_ms": 1.1},
        {"from": 1, "to": 3, "mebibyte_ms": 20.0}, {"from": 3, "to": 1, "mebibyte_ms": 21.0},
        {"from": 2, "to": 3, "mebibyte_ms": 22.0}, {"from": 3, "to": 2, "mebibyte_ms": 23.0}],
      "cut_links": [], "jobs": []})");
    return facts;
}

// Returns the worst verdict on the subject; checks that every finding that is not ok has advice.
Verdict worst(const Findings& findings, std::string_view subject) {
    Verdict verdict = Verdict::ok;
    for (const Finding& finding : findings) {
        EXPECT_EQ(finding.verdict == Verdict::ok, finding.advice.empty()) << finding.what;
        if (finding.subject == subject) verdict = std::max(verdict, finding.verdict);
    }
    return verdict;
}

Findings judged(const Facts& facts) {
    Findings findings;
    judge_cluster(facts, findings);
    judge_network(facts, findings);
    judge_keys(facts.keys, findings);
    return findings;
}

bool says(const Facts& facts, std::string_view what) {
    return findings_text(judged(facts)).find(what) != std::string::npos;
}

TEST(ClusterFindings, AHealthyClusterHasNone) {
    EXPECT_TRUE(says(healthy_cluster(), "all is well")) << findings_text(judged(healthy_cluster()));
    EXPECT_TRUE(judged(Facts()).empty()) << "nothing is known without a controller";
}

TEST(ClusterFindings, NodesThatAreNotAliveAreNamed) {
    Facts facts = healthy_cluster();
    (*facts.daemon.status)["nodes"][1]["status"] = "suspected";
    EXPECT_EQ(worst(judged(facts), "nodes"), Verdict::warn);
    EXPECT_TRUE(says(facts, "suspected: b"));
    (*facts.daemon.status)["nodes"][1]["status"] = "alive";
    (*facts.daemon.status)["nodes"][1]["draining"] = true;
    EXPECT_EQ(worst(judged(facts), "nodes"), Verdict::ok);
    EXPECT_TRUE(says(facts, "draining, as an operator wishes: b"));
}

TEST(ClusterFindings, VersionsThatDifferAreNamedWithWhoHasThem) {
    Facts facts = healthy_cluster();
    (*facts.daemon.status)["nodes"][2]["version"] = "1.1.0";
    EXPECT_EQ(worst(judged(facts), "versions"), Verdict::warn);
    EXPECT_TRUE(says(facts, "1.0.0 (a, b, the controller), 1.1.0 (c)"));
    (*facts.daemon.status)["nodes"][2].erase("version");
    EXPECT_EQ(worst(judged(facts), "versions"), Verdict::ok);
    EXPECT_TRUE(says(facts, "not told, by an older daemon or controller: c"));
}

TEST(ClusterFindings, ANodeWithoutAZoneAmongThoseWithOneIsNamed) {
    Facts facts = healthy_cluster();
    Json& nodes = (*facts.daemon.status)["nodes"];
    nodes[2]["zone"] = "";
    EXPECT_EQ(worst(judged(facts), "zones"), Verdict::warn);
    EXPECT_TRUE(says(facts, "c say none, others do: r1 (a, b)"));
    for (Json& node : nodes) node["zone"] = "";
    EXPECT_EQ(worst(judged(facts), "zones"), Verdict::ok) << "all are alike";
}

TEST(ClusterFindings, ALinkIsSlowBesideThoseOfItsKind) {
    Facts facts = healthy_cluster();
    (*facts.daemon.status)["links"][4]["mebibyte_ms"] = 200.0;
    EXPECT_EQ(worst(judged(facts), "links"), Verdict::warn);
    EXPECT_TRUE(says(facts, "but b to c 200 ms")) << findings_text(judged(facts));
    (*facts.daemon.status)["links"][4]["mebibyte_ms"] = 40.0;
    EXPECT_EQ(worst(judged(facts), "links"), Verdict::ok);
    (*facts.daemon.status)["links"][0]["mebibyte_ms"] = 50.0;
    EXPECT_EQ(worst(judged(facts), "links"), Verdict::ok) << "of two, who knows which is right";
}

TEST(ClusterFindings, CutsAFailedJournalSlowWorkersAndAClockAheadAreSeen) {
    Facts facts = healthy_cluster();
    Json& status = *facts.daemon.status;
    status["cut_links"].push_back({{"nodes", {1U, 3U}}});
    status["journal"] = {{"state", "failed"}, {"path", "/j"}, {"failure", "no space"}};
    status["jobs"].push_back(
        {{"name", "j"},
         {"workers", {{{"rank", 3U}, {"node", 2U}, {"slow", {{"why", "stopped"}}}}}}});
    status["unix_ms"] = kNow + 60'000;
    status["nodes"][0]["unix_ms"] = kNow + 60'100;
    status["nodes"][1]["unix_ms"] = kNow;
    const Findings findings = judged(facts);
    EXPECT_EQ(worst(findings, "network"), Verdict::fail);
    EXPECT_EQ(worst(findings, "journal"), Verdict::fail);
    EXPECT_EQ(worst(findings, "workers"), Verdict::warn);
    EXPECT_EQ(worst(findings, "clock"), Verdict::warn);
    EXPECT_EQ(worst(findings, "clocks"), Verdict::warn);
    EXPECT_TRUE(says(facts, "no bytes pass between a and c"));
    EXPECT_TRUE(says(facts, "slow: rank 3 of j on b (stopped)"));
    EXPECT_TRUE(says(facts, "the controller's is 60.0 s ahead"));
    EXPECT_TRUE(says(facts, "apart from the controller's: b 60.0 s behind"));
    status["unix_ms"] = kNow;
    EXPECT_TRUE(says(facts, "apart from the controller's: a 60.1 s ahead"));
    status["nodes"][0]["unix_ms"] = kNow + 10;
    EXPECT_EQ(worst(judged(facts), "clocks"), Verdict::ok);
    (*facts.daemon.status)["nodes"][1]["nccl"] = "2.18.1";
    EXPECT_EQ(worst(judged(facts), "NCCL"), Verdict::warn);
}

TEST(ClusterFindings, AnyFieldMayBeMissingOrOfAnotherKind) {
    const Json whole = healthy_cluster().daemon.status->flatten();
    for (const auto& [path, value] : whole.items()) {
        for (const Json& other : {Json(), Json("x"), Json(-1), Json::array(), Json::object()}) {
            Facts broken = healthy_cluster();
            (*broken.daemon.status)[Json::json_pointer(path)] = other;
            EXPECT_FALSE(judged(broken).empty()) << path;
        }
    }
}

TEST(NetworkFindings, APeerOfSmallerPacketsIsNamed) {
    Facts facts;
    facts.network.paths = {{"10.0.0.2", false, 8948, 8948},
                           {"10.0.0.3", false, 8948, 1448},
                           {"127.0.0.1", true, 65483, 32741}};
    EXPECT_EQ(worst(judged(facts), "packets"), Verdict::warn);
    EXPECT_TRUE(says(facts, "packets of 9000 bytes, less get through to 10.0.0.3 1500"));
    facts.network.paths.erase(facts.network.paths.begin() + 1);
    EXPECT_EQ(worst(judged(facts), "packets"), Verdict::ok);
    facts.network.paths_failure = "Permission denied";
    EXPECT_TRUE(says(facts, "root may"));
}

TEST(NetworkFindings, AClosedPortIsAFailure) {
    Facts facts;
    facts.network.controller = "tcp://10.0.0.1:7411";
    facts.network.controller_port_failure = "Connection refused";
    EXPECT_EQ(worst(judged(facts), "port"), Verdict::fail);
    facts.network.controller_port_failure = "";
    EXPECT_EQ(worst(judged(facts), "port"), Verdict::ok);
}

// A listener on loopback, and a connection to it.
class Connection {
  public:
    Connection() {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof(address);
        auto* any = reinterpret_cast<sockaddr*>(&address);
        EXPECT_EQ(bind(listener_.get(), any, size), 0);
        EXPECT_EQ(listen(listener_.get(), 1), 0);
        EXPECT_EQ(getsockname(listener_.get(), any, &size), 0);
        EXPECT_EQ(connect(client_.get(), any, size), 0);
        port_ = ntohs(address.sin_port);
    }
    std::string endpoint() const { return fmt::format("tcp://127.0.0.1:{}", port_); }
    void close_listener() { listener_.reset(); }

  private:
    base::UniqueFd listener_{socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    base::UniqueFd client_{socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    uint16_t port_ = 0;
};

TEST(NetworkFacts, TheKernelTellsOfTheConnectionsOfAProcess) {
    const Connection connection;
    const auto paths = tcp_paths_of(getpid());
    if (!paths) GTEST_SKIP() << paths.error().message;
    ASSERT_FALSE(paths->empty());
    EXPECT_EQ(paths->front().peer, "127.0.0.1");
    EXPECT_TRUE(paths->front().is_loopback);
    EXPECT_GT(paths->front().advertised_mss, 500U);
    EXPECT_GT(paths->front().send_mss, 500U);
    EXPECT_FALSE(tcp_paths_of(0).ok());
}

TEST(NetworkFacts, APortIsTried) {
    Connection connection;
    EXPECT_EQ(why_no_connection(connection.endpoint()), "");
    connection.close_listener();
    EXPECT_EQ(why_no_connection(connection.endpoint()), "Connection refused");
    EXPECT_NE(why_no_connection("tcp://no-such-host.invalid:1"), "");
    EXPECT_NE(why_no_connection("inproc://x"), "");
}

// A temporary folder with key files.
class Keys : public testing::Test {
  protected:
    void SetUp() override {
        std::string pattern = std::filesystem::temp_directory_path() / "pace-keys-XXXXXX";
        ASSERT_NE(mkdtemp(pattern.data()), nullptr);
        folder_ = pattern;
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }

    std::string write(const std::string& name, mode_t mode) const {
        const std::string path = folder_ + "/" + name;
        std::ofstream(path) << "key\n";
        EXPECT_EQ(chmod(path.c_str(), mode), 0);
        return path;
    }
    Facts facts(uid_t uid) const {
        Facts facts;
        facts.keys = {look_at_keys(folder_, kTrainers), KeyOwner{uid, uid, "svc", "svc", false},
                      kTrainers};
        return facts;
    }

    // Facts of one file, as another machine's would be.
    static Facts facts_of(const KeyFile& file) {
        Facts facts;
        facts.keys.folder = {"/etc/pace/keys", true, 0755, 0, 0, {file}};
        facts.keys.service = KeyOwner{998, 998, "paced", "paced", false};
        facts.keys.trainers = kTrainers;
        return facts;
    }
    static Verdict verdict_on(uid_t uid, gid_t gid, mode_t mode, bool owner_is_trainer = false) {
        const Facts facts = facts_of({"k.secret", uid, gid, mode, "u", "g", owner_is_trainer});
        const Verdict verdict = worst(judged(facts), "keys");
        EXPECT_EQ(keys_to_fix(facts.keys).empty(), verdict == Verdict::ok);
        return verdict;
    }

    static inline const TrainersGroup kTrainers{999, "pace"};
    std::string folder_;
};

TEST_F(Keys, OfRootAndOfTheDaemonsUserAreWell) {
    EXPECT_EQ(verdict_on(0, 0, 0600), Verdict::ok);
    EXPECT_EQ(verdict_on(0, 0, 0640), Verdict::ok) << "the group is root's";
    EXPECT_EQ(verdict_on(0, 999, 0600), Verdict::ok) << "the group may not read";
    EXPECT_EQ(verdict_on(998, 998, 0600), Verdict::ok);
    EXPECT_EQ(verdict_on(998, 998, 0600, true), Verdict::ok) << "the daemon may be a member";
}

TEST_F(Keys, ThatTrainersCanReadAreAFailure) {
    EXPECT_EQ(verdict_on(0, 999, 0640), Verdict::fail);
    EXPECT_EQ(verdict_on(998, 999, 0640), Verdict::fail);
    EXPECT_EQ(verdict_on(1000, 1000, 0600, true), Verdict::fail);
    EXPECT_TRUE(says(facts_of({"k.secret", 0, 999, 0640, "root", "pace", false}),
                     "can be read by a member of the group pace"));
}

TEST_F(Keys, ThatAnybodyElseCanReadAreAWarning) {
    EXPECT_EQ(verdict_on(1000, 1000, 0600), Verdict::warn);
    EXPECT_EQ(verdict_on(0, 1000, 0640), Verdict::warn);
    EXPECT_EQ(verdict_on(998, 998, 0640), Verdict::warn);
}

TEST_F(Keys, AreGivenToRootUnlessTheDaemonsUserHasThem) {
    const Facts facts = facts_of({"k.secret", 998, 998, 0644, "paced", "paced", false});
    EXPECT_FALSE(is_for_root(facts.keys, facts.keys.folder.secrets.front()));
    EXPECT_TRUE(is_for_root(facts.keys, {"k", 1000, 1000, 0600, "ann", "ann", true}));
    EXPECT_TRUE(is_for_root(facts.keys, {"k", 0, 999, 0640, "root", "pace", false}));
}

TEST_F(Keys, ThatOthersMayReadAreAFailureAndAreFixed) {
    const std::string path = write("node.secret", 0644);
    write("node.public", 0644);
    EXPECT_EQ(worst(judged(facts(getuid())), "keys"), Verdict::fail);
    ASSERT_EQ(keys_to_fix(facts(getuid()).keys).size(), 1U) << "public keys are public";
    EXPECT_TRUE(give_key_file(path, std::nullopt, 0600));
    EXPECT_EQ(worst(judged(facts(getuid())), "keys"), Verdict::ok);
    EXPECT_TRUE(says(facts(getuid()), "1 secret key in "));
}

// Public keys lie there, which the services read by themselves.
TEST_F(Keys, AFolderThatTheServicesDoNotEnterIsAFailure) {
    write("node.secret", 0600);
    const uid_t other = getuid() + 12345;
    ASSERT_EQ(chmod(folder_.c_str(), 0755), 0);
    EXPECT_FALSE(says(facts(other), "does not get into it"));
    ASSERT_EQ(chmod(folder_.c_str(), 0750), 0);
    EXPECT_EQ(worst(judged(facts(other)), "keys"), Verdict::fail);
    EXPECT_TRUE(says(facts(other), "svc does not get into it"));
    EXPECT_FALSE(says(facts(getuid()), "does not get into it"));
    Facts nobody = facts(other);
    nobody.keys.service.reset();
    EXPECT_FALSE(says(nobody, "does not get into it")) << "there is no such user";
}

TEST_F(Keys, AreFoundWithTheirOwners) {
    const std::string path = write("node.secret", 0600);
    struct stat status {};
    ASSERT_EQ(stat(path.c_str(), &status), 0);
    const auto files = look_at_keys(folder_, TrainersGroup{status.st_gid, "own"}).secrets;
    ASSERT_EQ(files.size(), 1U);
    EXPECT_EQ(files.front().uid, getuid());
    EXPECT_FALSE(files.front().owner.empty() || files.front().group.empty());
    EXPECT_EQ(files.front().owner_is_trainer, getuid() != 0) << "root is no trainer";
}

TEST_F(Keys, WhatIsNoPlainFileIsNotGivenAway) {
    const std::string path = write("victim", 0644);
    const std::string link = folder_ + "/link.secret";
    std::filesystem::create_symlink(path, link);
    EXPECT_FALSE(give_key_file(link, std::nullopt, 0600));
    std::filesystem::remove(link);
    std::filesystem::create_hard_link(path, link);
    const auto refused = give_key_file(link, std::nullopt, 0600);
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find("no plain file with one name"), std::string::npos);
    struct stat status {};
    ASSERT_EQ(stat(path.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777U, 0644U);
}

TEST(Finding, ForProgramsNothingIsLeftOut) {
    const Json json = findings_json({ok("a", "well"), fail("b", "bad", "mend it")});
    EXPECT_EQ(json["failed"], 1U);
    EXPECT_EQ(json["findings"][0]["advice"], nullptr);
    EXPECT_EQ(json["findings"][1]["verdict"], "fail");
    EXPECT_EQ(json["findings"][1]["advice"], "mend it");
}

}  // namespace
}  // namespace pace::pacectl
