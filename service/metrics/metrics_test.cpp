#include "service/metrics/metrics.h"

#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include "service/metrics/test_documents.h"

namespace pace::metrics {
namespace {

const Json kStatus = Json::parse(R"({"version": "1.0.0", "protocol": 7,
  "nodes": [{"node": 1, "name": "a\"b", "status": "alive", "version": "1.0.0", "zone": "r"},
            {"node": 2, "name": "c", "status": "suspected", "silent_ms": 1500, "draining": true}],
  "journal": {"state": "failed", "path": "/x", "bytes": 12, "waiting": 3},
  "cut_links": [{"nodes": [1, 2]}], "cut_links_left_out": 2,
  "jobs": [{"name": "served", "state": "running", "step_median_ms": 250, "groups_completed": 9,
    "groups_failed": 1, "waited": {"total_s": 2.5},
    "progress": {"first": {"at": 1}, "last": {"at": 1}},
    "workers": [
      {"rank": 0, "node": 1, "status": "active", "iteration": 7, "step_median_ms": 250,
       "activity": "stopped", "activity_s": 4, "slow": {"factor": 3.5}, "waited": {"total_s": 1}},
      {"rank": 1, "node": 2, "status": "suspended", "iteration": 5, "step_median_ms": 500,
       "activity": "computing", "slow": null, "loss": 0.5, "samples_per_s": 10}],
    "model": {"slowest_clock": 5, "fastest_clock": 7, "pushes": 12, "pulls": 9, "pulls_waiting": 1,
      "live_versions": 2, "waited_total_s": 1.5, "waited_by_s": [[0, 1.25], [1, 0.25]],
      "staleness": [8, 3, 1], "checkpoint": {"position": 20, "age_s": 3.5}}},
   {"name": "old", "started": true, "workers": []}, {"name": "new", "started": false}]})");
const Json kDaemon = Json::parse(R"({"name": "a", "version": "1.0.0", "uptime_s": 5,
  "counters": {"requests": 21, "bytes_sent": 8}, "clients": [{}, {}], "controller": {"reachable": true},
  "memory": {"buffers": 4096}, "limits": {"user_bytes_max": 8192, "memory_max": 0},
  "users": [{"uid": 1000, "bytes": 4096}], "loop": {"longest_ms": 12, "long_callbacks": 1},
  "shards": [{"job": "served", "shard": 3, "model_bytes": 400, "versions_bytes": 80, "held_bytes": 0}]})");

TEST(Metrics, TellOfNodesWorkersAndJobs) {
    const std::string metrics = metrics_text(kStatus, nullptr, Format::prometheus);
    for (const char* line :
         {R"(pace_controller_info{version="1.0.0",protocol="7"} 1)",
          R"(pace_node_alive{node="a\"b"} 1)", R"(pace_node_alive{node="c"} 0)",
          R"(pace_node_suspected{node="c"} 1)", R"(pace_node_silent_seconds{node="c"} 1.5)",
          R"(pace_node_draining{node="c"} 1)",
          R"(pace_node_info{node="a\"b",version="1.0.0",zone="r"} 1)",
          R"(pace_nodes{status="suspected"} 1)", R"(pace_journal_failed 1)", R"(pace_cut_links 3)",
          R"(pace_jobs{state="running"} 2)", R"(pace_jobs{state="joining"} 1)",
          R"(pace_job_state{pace_job="served",state="running"} 1)",
          R"(pace_job_workers{pace_job="served",status="suspended"} 1)",
          R"(pace_job_groups_failed_total{pace_job="served"} 1)",
          R"(pace_job_waited_seconds_total{pace_job="served"} 2.5)",
          // The pushes count, not the one round of the broadcast.
          R"(pace_job_progress_first{pace_job="served"} 7)",
          R"(pace_job_progress_last{pace_job="served"} 5)",
          R"(pace_job_slow_workers{pace_job="served"} 1)",
          R"(pace_worker_step_seconds{pace_job="served",rank="1",node="c"} 0.5)",
          R"(pace_worker_active{pace_job="served",rank="1",node="c"} 0)",
          R"(pace_worker_stopped{pace_job="served",rank="0",node="a\"b"} 1)",
          R"(pace_worker_slow_factor{pace_job="served",rank="0",node="a\"b"} 3.5)",
          R"(pace_worker_slow_factor{pace_job="served",rank="1",node="c"} 1)",
          R"(pace_worker_waited_seconds_total{pace_job="served",rank="0",node="a\"b"} 1)",
          R"(pace_worker_loss{pace_job="served",rank="1",node="c"} 0.5)"})
        EXPECT_TRUE(has_line(metrics, line)) << line << "\n" << metrics;
    // The first worker has told no loss.
    EXPECT_EQ(metrics.find(R"(pace_worker_loss{pace_job="served",rank="0")"), std::string::npos);
}

TEST(Metrics, TellOfModels) {
    const std::string metrics = metrics_text(kStatus, nullptr, Format::prometheus);
    for (const char* line :
         {R"(pace_model_slowest_clock{pace_job="served"} 5)",
          R"(pace_worker_pull_waited_seconds_total{pace_job="served",rank="0"} 1.25)",
          R"(pace_model_push_staleness_bucket{pace_job="served",le="1.0"} 11)",
          R"(pace_model_push_staleness_bucket{pace_job="served",le="+Inf"} 12)",
          R"(pace_model_push_staleness_sum{pace_job="served"} 5)",
          R"(pace_model_checkpoint_age_seconds{pace_job="served"} 3.5)",
          R"(pace_model_checkpoint_failed{pace_job="served"} 0)"})
        EXPECT_TRUE(has_line(metrics, line)) << line << "\n" << metrics;
}

TEST(Metrics, TellOfADaemon) {
    const std::string metrics = metrics_text(nullptr, kDaemon, Format::prometheus);
    for (const char* line :
         {R"(pace_daemon_info{node="a",version="1.0.0"} 1)",
          R"(pace_daemon_requests_total{node="a"} 21)",
          R"(pace_daemon_sent_bytes_total{node="a"} 8)", R"(pace_daemon_clients{node="a"} 2)",
          R"(pace_daemon_controller_reachable{node="a"} 1)",
          R"(pace_daemon_user_bytes{node="a",uid="1000"} 4096)",
          R"(pace_daemon_user_limit_bytes{node="a"} 8192)",
          R"(pace_daemon_loop_long_callbacks_total{node="a"} 1)",
          R"(pace_shard_bytes{node="a",pace_job="served",shard="3",kind="versions"} 80)"})
        EXPECT_TRUE(has_line(metrics, line)) << line << "\n" << metrics;
    EXPECT_EQ(metrics.find("memory_limit"), std::string::npos);
}

// All samples of a family follow its one HELP and TYPE line. No series comes twice. Prometheus's
// own labels are not used.
TEST(Metrics, AreWellFormed) {
    std::istringstream lines(metrics_text(kStatus, kDaemon, Format::prometheus));
    std::set<std::string> families;
    std::set<std::string> series;
    std::string family;
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("# HELP ")) {
            family = line.substr(7, line.find(' ', 7) - 7);
            EXPECT_TRUE(families.insert(family).second) << family;
        } else if (line.starts_with("# TYPE ")) {
            EXPECT_EQ(line.substr(7, family.size()), family);
        } else {
            EXPECT_TRUE(line.starts_with(family)) << line;
            EXPECT_TRUE(series.insert(line.substr(0, line.rfind(' '))).second) << line;
            for (const char* label : {"{job=", ",job=", "{instance=", ",instance="})
                EXPECT_EQ(line.find(label), std::string::npos) << line;
        }
    }
    EXPECT_GT(families.size(), 40U);
}

TEST(Metrics, DocumentsOfAnotherShapeGiveNoNonsense) {
    for (const char* text :
         {"[]", "3", R"({"nodes": 3, "jobs": {"a": 1}})", R"({"nodes": [1, [], null]})",
          R"({"jobs": [null, {"workers": [1, {"slow": 3, "waited": [], "rank": {}}], "model": [],
              "progress": {"first": 2}}, {"model": {"waited_by_s": [1, [2]], "staleness": ["x"]}}]})",
          R"({"counters": {"x": "y"}, "users": [1], "shards": [null], "limits": 3})"}) {
        const Json odd = Json::parse(text);
        EXPECT_NO_THROW(metrics_text(odd, odd, Format::openmetrics)) << text;
    }
}

TEST(Metrics, WhatTheyDoNotNeedIsNotParsed) {
    const Json parsed =
        parse(R"({"links": [1], "jobs": [{"recent_groups": [{"a": 1}], "name": "x"}]})");
    EXPECT_EQ(parsed, Json::parse(R"({"jobs": [{"name": "x"}]})"));
    for (const char* text : {"", "[1]", "{", "null", "{\"a\": \xff}"})
        EXPECT_TRUE(parse(text).is_null()) << text;
}

}  // namespace
}  // namespace pace::metrics
