#include "service/pacectl/status/status_text.h"

#include <gtest/gtest.h>

#include "service/pacectl/facts/job_facts.h"
#include "service/pacectl/status/job_text.h"

namespace pace::pacectl {
namespace {

// In the format of service/controller/shell/status/status_json.cpp.
constexpr const char* kExample = R"({
      "version": "0.1.0", "listening": ["inproc://controller"], "curve": false,
      "journal": {"state": "failed", "failure": "no space"},
      "counters": {"signals": 40, "groups": 12, "bridged_groups": 3, "views": 1},
      "nodes": [
        {"node": 1, "name": "a", "status": "alive", "workers": 1, "processors": 8,
         "silent_ms": 12.5, "zone": "rack-3", "nccl": "2.21.5", "host": "a.example"},
        {"node": 2, "name": "b", "status": "suspected", "workers": 1}],
      "nodes_left_out": 5,
      "links": [
        {"from": 1, "to": 2, "latency_us": 25.0, "ns_per_byte": 0.5, "mebibyte_ms": 0.55},
        {"from": 2, "to": 1, "latency_us": 30.0, "ns_per_byte": 1.5, "mebibyte_ms": 1.6}],
      "links_left_out": 0,
      "cut_links": [{"nodes": [1, 2], "since_ms": 2500.0}], "cut_links_left_out": 0,
      "jobs": [{
        "job": 1, "name": "fashion", "epoch": 4, "uid": 1000, "started": true,
        "options": {"policy": "partial-reduce", "world": 2, "group.size": 2, "average.weights": "dynamic"},
        "zones": [{"zone": 1, "label": "rack-3", "nodes": [1]},
                  {"zone": 2147483648, "nodes": [2, 9]}],
        "left_out": [2],
        "step_median_ms": 10.0, "slowest": {"rank": 1, "factor": 5.0},
        "workers": [
          {"rank": 0, "node": 1, "status": "active", "iteration": 90, "step_median_ms": 10.0,
           "step_last_ms": 11.0, "exchanging": true,
           "waited": {"total_s": 75.0, "median_ms": 2.0}, "exchanged": {"total_s": 0.5}},
          {"rank": 1, "node": 2, "status": "late", "iteration": 80, "step_median_ms": 50.0,
           "waiting_ms": 3.0}],
        "workers_left_out": 0, "groups_ordered": 12, "groups_completed": 10,
        "groups_failed": 1, "conflicts": 4, "waited": {"total_s": 80.0, "median_ms": 3.0},
        "exchanged": {"total_s": 1.5, "median_ms": 0.25},
        "progress": {"spread": 10, "last": {"rank": 1, "at": 80}, "first": {"rank": 0, "at": 90}},
        "sync_components": 1, "spectral_gap": 0.25, "groups_in_flight": 1, "group_wait_ms": 2.0,
        "recent_groups": [
          {"group": 76, "state": "done", "members": [], "size": 0},
          {"group": 77, "state": "moving", "ordered_ms_ago": 4.0, "moving_ms": 1.5,
           "bytes": 2048, "size": 70,
           "members": [{"rank": 0, "node": 1, "iteration": 90, "weight": 0.75},
                       {"rank": 1, "node": 2, "iteration": 80, "weight": 0.25}]}],
        "staleness": [{"from": 0, "to": 0, "members": 10}, {"from": 4, "to": 7, "members": 2}]
      }]})";

Json example() {
    return Json::parse(kExample);
}

bool has(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

TEST(StatusText, NamesWhoHasNotJoinedYet) {
    Json status = example();
    Json& job = status["jobs"][0];
    job["started"] = false;
    job["options"]["world"] = 3U;
    EXPECT_TRUE(has(status_text(status, {}), "waits for rank 2 to join"));
    job["options"]["world"] = 20U;
    EXPECT_TRUE(
        has(status_text(status, {}), "waits for ranks 2 3 4 5 6 7 8 9 and 10 more to join"));
    job["run"] = {{"id", "monday"}, {"began_ns", 7}};
    EXPECT_TRUE(has(status_text(status, {}), "run monday"));
}

TEST(StatusText, NamesTheSlowestTheLastGroupsAndTheStaleness) {
    const std::string shown = status_text(example(), {});
    EXPECT_TRUE(has(shown, "slowest: rank 1 on b, 5.0 times the median step of 10.0 ms")) << shown;
    EXPECT_TRUE(has(shown, "0@90×0.75 1@80×0.25 … 68 more")) << shown;
    EXPECT_TRUE(has(shown, "cut for 2.5 s: a and b get no bytes from each other")) << shown;
    EXPECT_TRUE(has(shown, "goes on without, since the network is cut: b")) << shown;
    EXPECT_TRUE(has(shown, "spectral gap 0.250; sync-graph in 1 piece")) << shown;
    EXPECT_TRUE(has(shown, "progress: 10 apart, from 80 (rank 1) to 90 (rank 0)")) << shown;
    EXPECT_TRUE(has(shown, "groups: 12 ordered, 10 completed, 1 failed, 4 in conflict")) << shown;
    EXPECT_TRUE(has(shown, "waited 3.0 ms for its group and exchanged 250 us")) << shown;
    EXPECT_TRUE(has(shown, "(medians; in all 80.0 s and 1.5 s)")) << shown;
    EXPECT_TRUE(has(shown, "75.0 s     500 ms")) << shown;
    EXPECT_TRUE(has(shown, "4..7")) << shown;
    EXPECT_TRUE(has(shown, "active, exchanging")) << shown;
    EXPECT_TRUE(has(shown, "job fashion: partial-reduce of 2, dynamic weights, 2 of 2 workers"));
    EXPECT_TRUE(has(shown, "journal: failed (no space)")) << shown;
    EXPECT_TRUE(has(shown, "and 5 more nodes")) << shown;
}

TEST(StatusText, TellsHowFarTheTrainingIsAndWhatTopKKeepsBack) {
    Json status = example();
    EXPECT_FALSE(has(status_text(status, {}), "training:")) << "an older controller";
    EXPECT_FALSE(has(status_text(status, {}), "top-k"));
    Json& job = status["jobs"][0];
    job["steps"] = {{"done", 4200U}, {"total", 10'000U}, {"left_s", 2100.0}};
    job["residual"] = {{"bytes", 4194304U}, {"exchanges", 7U}};
    const std::string shown = status_text(status, {});
    EXPECT_TRUE(has(shown, "  training: 4200 of 10000 steps, 35 min left\n")) << shown;
    EXPECT_TRUE(has(shown, "  top-k keeps back gradients in 4.0 MiB, for 7 exchanges\n")) << shown;
    job["steps"]["left_s"] = nullptr;
    job["residual"] = {{"bytes", 0U}, {"exchanges", 0U}};
    EXPECT_TRUE(has(status_text(status, {}), "  training: 4200 of 10000 steps\n"));
    EXPECT_TRUE(has(status_text(status, {}), "  top-k keeps nothing back\n"));
    job["steps"] = job["residual"] = nullptr;
    EXPECT_FALSE(has(status_text(status, {}), "training:"));
    EXPECT_FALSE(has(status_text(status, {}), "top-k"));
}

TEST(StatusText, SaysWhyGroupsFailed) {
    EXPECT_FALSE(has(status_text(example(), {}), "failed:"));
    Json status = example();
    Json& group = status["jobs"][0]["recent_groups"][0];
    group["state"] = "failed";
    group["reason"] = "the exchange failed at node 'b': no\nmemory";
    const std::string line = "  group 76 failed: the exchange failed at node 'b': no?memory\n";
    EXPECT_TRUE(has(status_text(status, {}), line)) << status_text(status, {});
    EXPECT_FALSE(has(status_text(status, {.groups = 1}), line)) << "of the groups that are shown";
    group.erase("reason");
    EXPECT_FALSE(has(status_text(status, {}), "failed:")) << "of an older controller";
}

TEST(StatusText, TellsWhereNodesAreAndWhatTheirLinksTake) {
    const std::string shown = status_text(example(), {});
    EXPECT_TRUE(has(shown, "rack-3")) << shown;
    EXPECT_TRUE(has(shown, "near each other, by zone rack-3: a\n")) << shown;
    EXPECT_TRUE(has(shown, "near each other, by their links: b node 9\n")) << shown;
    EXPECT_TRUE(has(shown, "25 us  550 us")) << shown;
    const std::string one = status_text(example(), {.links = 1});
    EXPECT_TRUE(has(one, "1.6 ms")) << one;
    EXPECT_FALSE(has(one, "550 us")) << one;
    EXPECT_TRUE(has(one, "and 1 more links")) << one;
    EXPECT_FALSE(has(status_text(example(), {.links = 0}), "LATENCY"));
}

TEST(StatusText, TellsTheNcclOfEachNode) {
    const std::string shown = status_text(example(), {});
    EXPECT_TRUE(has(shown, "ZONE    NCCL    HOST")) << shown;
    EXPECT_TRUE(has(shown, "rack-3  2.21.5  a.example")) << shown;
    EXPECT_TRUE(has(shown, "-       -")) << shown;
}

TEST(StatusText, NamesWhatIsUnusualAboutAnAllReduce) {
    Json status = example();
    Json& options = status["jobs"][0]["options"];
    options = {{"policy", "all-reduce"}, {"world", 2}, {"quorum", "all"}, {"compression", "none"}};
    EXPECT_TRUE(has(status_text(status, {}), "job fashion: all-reduce, 2 of 2 workers"));
    options["quorum"] = "majority";
    EXPECT_TRUE(has(status_text(status, {}), "job fashion: all-reduce, quorum majority, 2 of 2"));
    options["quorum"] = "all";
    options["compression"] = "spardl";
    EXPECT_TRUE(has(job_list_text(status), "all-reduce, spardl"));
}

TEST(StatusText, OfStaticGroupsShowsWhatIsTold) {
    Json status = example();
    Json& job = status["jobs"][0];
    job["options"] = {{"policy", "prague-static"}, {"world", 2}};
    for (const char* key : {"group_wait_ms", "groups_in_flight", "groups_failed", "conflicts",
                            "holding", "bridged_groups", "staleness"})
        job.erase(key);
    const std::string shown = status_text(status, {});
    EXPECT_TRUE(has(shown, "job fashion: prague-static, 2 of 2 workers")) << shown;
    EXPECT_TRUE(has(shown, "spectral gap 0.250; sync-graph in 1 piece\n")) << shown;
    EXPECT_TRUE(has(shown, "groups: 10 completed\n")) << shown;
    EXPECT_TRUE(has(shown, "waited 3.0 ms for its group and exchanged 250 us")) << shown;
    EXPECT_TRUE(has(shown, "0@90×0.75")) << shown;
    EXPECT_FALSE(has(shown, "in flight")) << shown;
}

TEST(StatusText, SaysThatPairsKeepToAGraph) {
    Json status = example();
    Json& options = status["jobs"][0]["options"];
    options["policy"] = "ad-psgd";
    EXPECT_TRUE(has(job_list_text(status), "ad-psgd of 2, dynamic weights  "));
    options["group.edges"] = 7U;
    EXPECT_TRUE(has(job_list_text(status), "ad-psgd of 2, dynamic weights on a graph of 7 edges"));
    EXPECT_TRUE(has(job_options_text(status["jobs"][0]), "group.edges"));
}

TEST(StatusText, TellsWhatPolicyAutoHasChosenAndWhy) {
    Json status = example();
    Json& job = status["jobs"][0];
    job["options"] = {{"policy", "auto"}, {"world", 2}, {"average.weights", "constant"}};
    job["auto"] = {{"policy", "partial-reduce"},
                   {"group_size", 5},
                   {"reason", "instead of full: one is slow"},
                   {"switches", 1U}};
    EXPECT_TRUE(has(job_list_text(status), "auto (partial-reduce of 5), constant weights"));
    EXPECT_TRUE(
        has(status_text(status, {}),
            "  auto: partial-reduce of 5 instead of full: one is slow (1 change so far)\n"));
    job["auto"]["group_size"] = nullptr;
    job["auto"]["policy"] = "full";
    EXPECT_TRUE(has(job_list_text(status), "auto (full), constant weights"));
}

TEST(StatusText, ShowsTheSlowestWhenNotAllFit) {
    const std::string shown = status_text(example(), {.workers = 1, .groups = 1});
    EXPECT_TRUE(has(shown, "late")) << shown;
    EXPECT_FALSE(has(shown, "active, exchanging")) << shown;
    EXPECT_TRUE(has(shown, "and 1 more workers")) << shown;
    EXPECT_FALSE(has(shown, "  76  ")) << shown;
}

TEST(StatusText, AnEmptyDocumentIsAnEmptyCluster) {
    const std::string shown = status_text(Json::object(), {});
    EXPECT_TRUE(has(shown, "no node is attached"));
    EXPECT_TRUE(has(shown, "no job"));
}

// Some text is shown and nothing throws, whichever field is removed or replaced.
TEST(StatusText, AnyFieldMayBeMissingOrOfAnotherKind) {
    const Json whole = example().flatten();
    for (const auto& [path, value] : whole.items()) {
        for (const Json& other : {Json(), Json("x"), Json(-1), Json::array(), Json::object()}) {
            Json broken = example();
            broken[Json::json_pointer(path)] = other;
            EXPECT_FALSE(status_text(broken, {}).empty()) << path;
            EXPECT_FALSE(job_list_text(broken).empty()) << path;
        }
    }
}

TEST(StatusText, AJobIsFoundByItsName) {
    const Json status = example();
    const Json* job = find_job(status, "fashion");
    ASSERT_NE(job, nullptr);
    EXPECT_TRUE(has(job_options_text(*job), "group.size"));
    EXPECT_EQ(find_job(status, "other"), nullptr);
}

TEST(StatusText, AFinishedJobIsNotRunning) {
    Json status = example();
    Json& job = status["jobs"][0];
    job["state"] = "finished";
    EXPECT_TRUE(has(status_text(status, {}), "epoch 4, finished\n")) << status_text(status, {});
    EXPECT_EQ(job_list_json(status)["jobs"][0]["state"], "finished");
    job["workers"].clear();
    EXPECT_FALSE(has(status_text(status, {}), "no worker has joined"));
    job["state"] = "joining";
    EXPECT_TRUE(has(job_list_text(status), "waits for ranks 0 1 to join"));
    job.erase("state");
    EXPECT_TRUE(has(job_list_text(status), "running")) << "of an older controller";
}

TEST(StatusText, SaysWhatWorkersDoAndWhoIsSlowSinceWhenAndWhy) {
    Json status = example();
    Json& workers = status["jobs"][0]["workers"];
    EXPECT_FALSE(has(status_text(status, {}), "ACTIVITY")) << "an older controller does not tell";
    EXPECT_FALSE(has(status_text(status, {}), "COMPUTED"));
    workers[0]["activity"] = "computing";
    workers[0]["activity_s"] = 3.25;
    workers[0]["computed"] = {{"total_s", 90.0}, {"median_ms", 9.0}};
    workers[0]["slow"] = nullptr;
    workers[1]["activity"] = "stopped";
    workers[1]["slow"] = {
        {"factor", 5.0}, {"since_s", 12.0}, {"why", "stopped"}, {"text", "by a signal"}};
    const std::string shown = status_text(status, {});
    EXPECT_TRUE(has(shown, "active, exchanging  computing 3.2 s         90")) << shown;
    EXPECT_TRUE(has(shown, "slow: rank 1 on b, 5.0 times the median for 12.0 s, stopped: by a"))
        << shown;
    EXPECT_FALSE(has(shown, "slowest:")) << "said once";
}

TEST(StatusText, NodesTellThatTheyDrainAndTheirVersions) {
    Json status = example();
    EXPECT_FALSE(has(status_text(status, {}), "VERSION"));
    status["nodes"][0]["draining"] = true;
    status["nodes"][0]["version"] = "1.0.0";
    status["nodes"][1]["version"] = "";
    const std::string shown = status_text(status, {});
    EXPECT_TRUE(has(shown, "alive, draining")) << shown;
    EXPECT_TRUE(has(shown, "2.21.5  1.0.0    a.example")) << shown;
}

TEST(StatusText, AJobThatIsNotThereIsCompared) {
    const std::string message = no_such_job(example(), "fashoin").message;
    EXPECT_EQ(message,
              "there is no job 'fashoin'; did you mean 'fashion'? `pacectl job list` shows all");
    EXPECT_EQ(no_such_job(example(), "other").message,
              "there is no job 'other'; `pacectl job list` shows all");
}

TEST(StatusText, TheOptionsOfAParameterServerAreShownWithTheRest) {
    const Json job = Json::parse(R"({"options": {"policy": "ssp", "server.shards": 3,
        "server.checkpoint_copies": 2, "server.restore": true}})");
    const std::string shown = job_options_text(job);
    EXPECT_TRUE(has(shown, "  server.shards             3\n")) << shown;
    EXPECT_TRUE(has(shown, "  server.checkpoint_copies  2\n")) << shown;
    EXPECT_TRUE(has(shown, "  server.restore            true\n")) << shown;
}

}  // namespace
}  // namespace pace::pacectl
