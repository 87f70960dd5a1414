// Limit tests: too few places, too little memory, too little disk. Each case ends in an error that
// names the resource, and costs no other worker.
#include <gtest/gtest.h>

#include "tests/cluster/harness/cluster.h"
#include "tests/cluster/harness/team.h"
#include "tests/cluster/harness/words.h"
#include "tests/cluster/harness/worker.h"

namespace pace::cluster {
namespace {

// Expects that the complaint has the status and every one of the words.
void expect_complaint(const std::string& complaint, const char* status,
                      std::initializer_list<const char*> words) {
    EXPECT_TRUE(complaint.starts_with(status)) << complaint;
    expect_words(complaint, words);
}

Worker open(const Cluster& cluster, const std::string& job) {
    Worker worker({.endpoint = cluster.endpoint(0), .job = job});
    EXPECT_EQ(worker.opened(), PACE_OK) << worker.complaint();
    return worker;
}

TEST(Limits, BuffersOfAClient) {
    Cluster cluster(
        {.nodes = 1, .controller = false, .daemon_flags = {"--client-buffers-max", "2"}});
    Worker worker = open(cluster, "one");
    EXPECT_NE(worker.add_buffer(PACE_F32, 10), nullptr);
    EXPECT_NE(worker.add_buffer(PACE_F32, 10), nullptr);
    EXPECT_EQ(worker.add_buffer(PACE_F32, 10), nullptr);
    expect_complaint(worker.complaint(), "PACE_E_LIMIT", {"client_buffers_max", "2"});
    pace_error error{};
    EXPECT_EQ(pace_buffer_free(worker.session(), worker.buffers()[0], &error), PACE_OK);
    EXPECT_NE(worker.add_buffer(PACE_F32, 10), nullptr) << "a freed one makes room";
}

TEST(Limits, MemoryOfAllClientsTogether) {
    Cluster cluster({.nodes = 1, .controller = false, .daemon_flags = {"--memory-max", "4MiB"}});
    Worker first = open(cluster, "first");
    EXPECT_NE(first.add_buffer(PACE_F64, kMebi / 8), nullptr);
    {
        Worker second = open(cluster, "second");
        EXPECT_NE(second.add_buffer(PACE_F64, kMebi / 8), nullptr);
        EXPECT_EQ(second.add_buffer(PACE_F64, kMebi / 8), nullptr) << "sessions take a little, too";
        expect_complaint(second.complaint(), "PACE_E_LIMIT", {"memory_max", "4194304"});
    }
    EXPECT_NE(first.add_buffer(PACE_F64, kMebi / 8), nullptr) << "who leaves makes room";
}

TEST(Limits, ClientsOfADaemon) {
    Cluster cluster({.nodes = 1, .controller = false, .daemon_flags = {"--clients-max", "1"}});
    Worker first = open(cluster, "first");
    const Worker second({.endpoint = cluster.endpoint(0), .job = "second"});
    EXPECT_LT(second.opened(), 0);
    expect_complaint(second.complaint(), "PACE_E_LIMIT", {"clients_max", "1"});
    first.add_floats(10, 1);
    first.finish(first.reduce());
}

TEST(Limits, MemoryOfTheMachine) {
    Cluster cluster({.nodes = 1,
                     .controller = false,
                     .daemon_flags = {"--client-bytes-max", "1TiB", "--user-bytes-max", "1TiB"}});
    // If the daemon ever tries to allocate this, the limit stops it before the machine suffers.
    ASSERT_TRUE(cluster.daemon(0).limit_files(1024 * kMebi));
    Worker worker = open(cluster, "large");
    EXPECT_EQ(worker.add_buffer(PACE_F32, uint64_t{1} << 37U), nullptr);
    expect_complaint(worker.complaint(), "PACE_E_MEMORY", {"549755813888", "free memory"});
    worker.add_floats(10, 1);
    worker.finish(worker.reduce());
    EXPECT_EQ(worker.info().member_count, 1U);
}

TEST(Limits, TheJournalsDisk) {
    Cluster cluster({.nodes = 1});
    Worker before = open(cluster, "before");
    before.add_floats(10, 1);
    before.finish(before.reduce());

    ASSERT_TRUE(cluster.controller().limit_files(0));
    // The records of the first jobs may still find space that is reserved ahead, but not for long.
    std::string complaint;
    for (int i = 0; i < 100 && complaint.empty(); ++i) {
        const Worker worker(
            {.endpoint = cluster.endpoint(0), .job = "during-" + std::to_string(i)});
        if (worker.opened() != PACE_OK) complaint = worker.complaint();
    }
    expect_complaint(complaint, "PACE_E_DISK", {cluster.directory().c_str(), "free space"});
    before.finish(before.reduce());
    EXPECT_NE(cluster.pacectl(0, {"status"}).find("journal: failed"), std::string::npos);
    cluster.pacectl(0, {"job", "create", "by-hand", "--world", "2", "--policy", "full"}, 1);
    EXPECT_NE(cluster.logs().find("by-hand cannot be created now"), std::string::npos);

    // With room again the controller goes on by itself.
    ASSERT_TRUE(cluster.controller().limit_files(RLIM_INFINITY));
    bool recovered = false;
    for (const Deadline end = soon(); !recovered && std::chrono::steady_clock::now() < end;) {
        const Worker worker({.endpoint = cluster.endpoint(0), .job = "after"});
        recovered = worker.opened() == PACE_OK;
    }
    EXPECT_TRUE(recovered) << cluster.logs();
    before.finish(before.reduce());
}

// The user's limit is just above the buffers and shards of each node. Updates and parts of the
// model on their way between nodes exceed the limit. If they were refused, they would be sent again
// for ever, and no call would end.
TEST(Limits, UpdatesOnTheirWayToOtherNodesShardsCountAndAreNotRefused) {
    constexpr uint64_t kElements = 4 * kMebi;
    Cluster cluster({.nodes = 2, .daemon_flags = {"--user-bytes-max", "41MiB"}});
    Team team(cluster,
              {.policy = PACE_POLICY_SSP,
               .elements = kElements,
               .shards = 2,
               .tune = [](AskedSession& job) { job.set(PACE_OPT_SERVER_STALENESS, 3); }},
              {0, 1});
    team.broadcast(1);
    for (uint64_t clock = 0; clock < 4; ++clock)
        team.everyone([clock](ServerWorker& worker, uint32_t) {
            worker.set_update(1);
            worker.finish(worker.push(clock));
            worker.finish(worker.pull(clock + 1));
        });
    expect_model(team[0], 4, 1 + 2 * 4);
}

}  // namespace
}  // namespace pace::cluster
