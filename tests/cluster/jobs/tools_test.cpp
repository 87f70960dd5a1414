// Tool tests: pacectl against a live cluster. The tests check what people see, and what programs
// read.
#include <filesystem>
#include <fstream>
#include <map>

#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

#include "tests/cluster/harness/cluster.h"
#include "tests/cluster/harness/words.h"

namespace pace::cluster {
namespace {

using Json = nlohmann::json;

// A cluster of two nodes. Four workers have averaged on it for a while.
class Tools : public testing::Test {
  protected:
    void SetUp() override {
        trainers_ = cluster_.trainers(4, {"--mode", "average", "--job", "shown", "--steps",
                                          "1000000000", "--step-us", "1000"});
        ASSERT_TRUE(trainers_.front().wait_for("step 20", soon())) << cluster_.logs();
    }

    Json json_of(size_t node, const std::vector<std::string>& arguments) {
        const std::string text = cluster_.pacectl(node, arguments);
        const Json document = Json::parse(text, nullptr, false);
        EXPECT_TRUE(document.is_object()) << text;
        return document.is_object() ? document : Json::object();
    }

    std::string errors() const { return cluster_.logs(); }

    Cluster cluster_{{.nodes = 2}};
    std::vector<Process> trainers_;
};

TEST_F(Tools, StatusNamesNodesWorkersAndGroups) {
    const std::string text = cluster_.pacectl(1, {"status"});
    expect_words(text, {"node0", "node1", "alive", "job shown: partial-reduce of 3", "4 of 4",
                        "running", "spectral gap", "RANK@ITERATION"});
    const Json status = json_of(0, {"status", "--json"});
    EXPECT_EQ(status["nodes"].size(), 2U);
    ASSERT_EQ(status["jobs"].size(), 1U);
    const Json& job = status["jobs"][0];
    EXPECT_EQ(job["name"], "shown");
    EXPECT_EQ(job["workers"].size(), 4U);
    EXPECT_EQ(job["options"]["group.size"], 3);
    EXPECT_FALSE(job["recent_groups"].empty());
    for (const Json& worker : job["workers"]) EXPECT_GT(worker["iteration"].get<uint64_t>(), 0U);
}

// The names are those that top, ps and systemd show.
TEST_F(Tools, ProcessesBearTheNamesOfTheirPrograms) {
    const auto name_of = [](const Process& process) {
        std::string name;
        std::getline(std::ifstream("/proc/" + std::to_string(process.pid()) + "/comm"), name);
        return name;
    };
    EXPECT_EQ(name_of(cluster_.daemon(0)), "paced");
    EXPECT_EQ(name_of(cluster_.controller()), "pace-controller");
}

TEST_F(Tools, DaemonTellsItsClientsAndLimits) {
    expect_words(cluster_.pacectl(0, {"daemon"}),
                 {"on node0", cluster_.controller_endpoint().c_str(), "(answers)", "shown",
                  "client_bytes_max"});
    const Json daemon = json_of(1, {"daemon", "--json"});
    EXPECT_EQ(daemon["name"], "node1");
    EXPECT_EQ(daemon["pid"], cluster_.daemon(1).pid());
    EXPECT_EQ(daemon["controller"]["reachable"], true);
    size_t seated = 0;
    // The connection that asks is a client without a job.
    for (const Json& client : daemon["clients"])
        seated += client.value("job", "") == "shown" ? 1 : 0;
    EXPECT_EQ(seated, 2U);
}

TEST_F(Tools, JobsAreDeletedUnlessSomebodyIsInThem) {
    cluster_.pacectl(0, {"job", "create", "planned", "--world", "2", "--policy", "all-reduce"});
    expect_words(cluster_.pacectl(1, {"job", "delete", "planned"}), {"planned", "deleted"});
    EXPECT_EQ(cluster_.pacectl(0, {"job", "list"}).find("planned"), std::string::npos);
    cluster_.pacectl(0, {"job", "delete", "planned"}, 1);
    cluster_.pacectl(0, {"job", "delete", "shown"}, 1);
    expect_words(errors(), {"there is no job 'planned'", "4 workers are in job 'shown'"});
}

// No worker joins these jobs. They take no memory by the size of their worlds, and there is a limit
// on their number.
TEST(JobLimits, KeepAUserFromTakingTheControllersMemory) {
    Cluster cluster({.nodes = 1, .controller_flags = {"--user-workers-max", "1400000"}});
    const auto resident_kib = [&] {
        std::ifstream file("/proc/" + std::to_string(cluster.controller().pid()) + "/status");
        for (std::string line; std::getline(file, line);)
            if (line.starts_with("VmRSS:")) return std::stoul(line.substr(6));
        return 0UL;
    };
    const auto create = [&](const std::string& name, int status) {
        cluster.pacectl(
            0, {"job", "create", name, "--world", "65536", "--policy", "partial-reduce"}, status);
    };
    create("first", 0);
    const unsigned long before = resident_kib();
    for (int i = 0; i < 3; ++i) create("more" + std::to_string(i), 0);
    EXPECT_LT(resident_kib(), before + 4096);
    create("too-much", 1);
    EXPECT_NE(cluster.logs().find("workers_max"), std::string::npos) << cluster.logs();
    cluster.kill_controller();
    cluster.start_controller();
    create("still-too-much", 1);
    cluster.pacectl(0, {"job", "delete", "first"});
    create("fits", 0);
}

TEST_F(Tools, JobsAreCreatedListedAndShown) {
    const std::string made =
        cluster_.pacectl(0, {"job", "create", "planned", "--world", "2", "--policy", "all-reduce"});
    expect_words(made, {"planned", "2 workers"});
    expect_words(cluster_.pacectl(1, {"job", "list"}),
                 {"shown", "planned", "all-reduce", "to join", "running"});
    expect_words(cluster_.pacectl(1, {"job", "show", "planned"}),
                 {"job planned", "0 of 2", "no worker has joined", "reduce.resync_every"});
    // Workers that give the same options find the job. Workers with other options are told of the
    // difference.
    Process wrong = cluster_.trainer(0, {"--job", "planned", "--world", "3"});
    EXPECT_TRUE(wrong.wait_for("outcome PACE_E_MISMATCH", soon())) << errors();
    auto right = cluster_.trainers(2, {"--job", "planned", "--steps", "5"});
    for (Process& trainer : right) EXPECT_EQ(trainer.wait(soon()), 0) << errors();
}

TEST_F(Tools, WhatIsRefusedIsSaidOnStandardErrorWithACode) {
    EXPECT_EQ(cluster_.pacectl(0, {"job", "show", "nobody"}, 1), "");
    expect_words(errors(), {"no job 'nobody'", "pacectl job list"});
    cluster_.pacectl(0, {"job", "create", "shown", "--world", "2", "--policy", "full"}, 1);
    expect_words(errors(), {"job 'shown' exists already"});
    cluster_.pacectl(
        0,
        {"job", "create", "bad", "--world", "4", "--policy", "partial-reduce", "--group-size", "9"},
        1);
    expect_words(errors(), {"group.size is 9", "2 to world, which is 4"});
    cluster_.pacectl(0, {"job", "create", "bad", "--world", "0", "--policy", "full"}, 1);
    expect_words(errors(), {"world is 0"});
    cluster_.pacectl(0, {"job", "create", "bad", "--world", "4", "--policy", "gossip"}, 2);
    expect_words(errors(), {"policy is 'gossip'; use all-reduce, partial-reduce, prague-random"});
    cluster_.pacectl(0, {"no-such-command"}, 2);
    cluster_.pacectl(0, {"top"}, 1);
    expect_words(errors(), {"top needs a terminal"});
    cluster_.pacectl(0, {"--endpoint", "tcp://here", "status"}, 2);
    Process lost({PACECTL, "--endpoint", "unix:/nonexistent/paced.sock", "status"},
                 cluster_.directory() + "/lost.log");
    EXPECT_EQ(lost.wait(soon()), 3);
    expect_words(errors(), {"/nonexistent/paced.sock", "start paced"});
}

TEST_F(Tools, StatusTellsWhatTheGroupsCost) {
    expect_words(cluster_.pacectl(1, {"status"}),
                 {"progress: ", " ordered, ", ", 0 failed, 0 in conflict", "a member waited",
                  "WAITED", "EXCHANGED"});
    const Json status = json_of(0, {"status", "--json"});
    const Json& job = status["jobs"][0];
    EXPECT_GE(job["groups_ordered"], job["groups_completed"]);
    EXPECT_GT(job["exchanged"]["total_s"], 0.0);
    for (const Json& worker : job["workers"]) EXPECT_GT(worker["exchanged"]["total_s"], 0.0);
}

// Returns the X events of each rank. These events follow one another.
std::map<uint64_t, size_t> events_of_ranks(const Json& trace) {
    std::map<uint64_t, size_t> events;
    std::map<uint64_t, uint64_t> ends;
    for (const Json& event : trace["traceEvents"]) {
        if (event["ph"] != "X") continue;
        const auto rank = event["tid"].get<uint64_t>();
        const auto begin = event["ts"].get<uint64_t>();
        EXPECT_GE(begin, ends[rank]) << event;
        ends[rank] = begin + event["dur"].get<uint64_t>();
        ++events[rank];
    }
    return events;
}

TEST_F(Tools, TraceShowsTheGroupsOfEveryRank) {
    const Json trace = json_of(1, {"trace", "--job", "shown"});
    const auto events = events_of_ranks(trace);
    EXPECT_EQ(events.size(), 4U) << trace;
    for (const auto& [rank, count] : events) EXPECT_GT(count, 2U) << "rank " << rank;
    expect_words(trace.dump(), {"node0, job shown", "node1, job shown", "rank 3", "\"waiting\"",
                                "\"exchanging\""});
}

TEST_F(Tools, TraceFollowsAndWritesAFile) {
    const std::string path = cluster_.directory() + "/trace.json";
    const Json once = json_of(0, {"trace"});
    expect_words(cluster_.pacectl(0, {"trace", "--follow", "0.3", "--output", path}),
                 {path.c_str(), "groups, ", "calls; open it at"});
    std::ifstream file(path);
    const Json trace = Json::parse(file, nullptr, false);
    ASSERT_TRUE(trace.is_object());
    EXPECT_EQ(events_of_ranks(trace).size(), 4U);
    EXPECT_GE(trace["otherData"]["groups_ordered"]["shown"],
              once["otherData"]["groups_ordered"]["shown"]);
}

TEST_F(Tools, TraceSaysWhatItCannotTrace) {
    cluster_.pacectl(0, {"job", "create", "planned", "--world", "2", "--policy", "all-reduce"});
    EXPECT_EQ(cluster_.pacectl(0, {"trace", "--job", "planned"}, 1), "");
    expect_words(errors(), {"job 'planned' averages in no groups", "recorded no call of it"});
    cluster_.pacectl(0, {"trace", "--job", "nobody"}, 1);
    expect_words(errors(), {"no job 'nobody'"});
    cluster_.pacectl(0, {"trace", "--output", "/nonexistent/trace.json"}, 1);
    expect_words(errors(), {"write the trace to /nonexistent/trace.json"});
    cluster_.pacectl(0, {"trace", "--follow", "-1"}, 2);
}

TEST_F(Tools, DoctorIsContentWithAHealthyCluster) {
    const std::string findings = cluster_.pacectl(0, {"doctor"});
    expect_words(findings, {"ok    socket", "ok    daemon", "ok    controller", "other machines"});
    EXPECT_EQ(findings.find("FAIL"), std::string::npos) << findings;
}

TEST_F(Tools, DoctorNamesTheSocketThatIsNotThere) {
    std::filesystem::remove(cluster_.socket(0));
    expect_words(cluster_.pacectl(0, {"doctor"}, 1), {"FAIL  socket", "start the daemon"});
}

TEST_F(Tools, TopFollowsTheJobUntilQ) {
    Process top = Process::on_terminal(
        {PACECTL, "--endpoint", cluster_.endpoint(0), "top", "--interval", "0.1"},
        cluster_.directory() + "/top.log");
    EXPECT_TRUE(top.wait_for_text("q ends", soon())) << errors();
    EXPECT_TRUE(top.wait_for_text("job shown", soon()));
    EXPECT_TRUE(top.wait_for_text("job shown", soon())) << "it draws again";
    top.type("q");
    EXPECT_TRUE(top.wait_for_text("\033[?1049l", soon())) << "the screen is given back";
    EXPECT_EQ(top.wait(soon()), 0);
}

}  // namespace
}  // namespace pace::cluster
