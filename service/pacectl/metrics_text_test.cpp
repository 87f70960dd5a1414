#include "service/pacectl/metrics_text.h"

#include <set>
#include <sstream>

#include <gtest/gtest.h>

namespace pace::pacectl {
namespace {

const Json kStatus = Json::parse(R"({
  "nodes": [{"node": 1, "name": "a\"b", "status": "alive"}, {"node": 2, "name": "c", "status": "silent"}],
  "jobs": [{"name": "served", "workers": [
      {"rank": 0, "node": 1, "status": "active", "iteration": 7, "step_median_ms": 250},
      {"rank": 1, "node": 2, "status": "suspended", "iteration": 5, "step_median_ms": 500}],
    "model": {"slowest_clock": 5, "fastest_clock": 7, "pushes": 12, "pulls": 9, "pulls_waiting": 1,
      "live_versions": 2, "waited_total_s": 1.5, "waited_by_s": [[0, 1.25], [1, 0.25]],
      "staleness": [8, 3, 1], "checkpoint": {"position": 20, "age_s": 3.5}}}]})");
const Json kDaemon = Json::parse(R"({"name": "a", "counters": {"requests": 21}, "clients": [{}, {}],
  "memory": {"buffers": 4096},
  "shards": [{"job": "served", "shard": 3, "model_bytes": 400, "versions_bytes": 80, "held_bytes": 0}]})");

bool has_line(const std::string& metrics, const std::string& line) {
    return ("\n" + metrics).find("\n" + line + "\n") != std::string::npos;
}

TEST(MetricsText, TellsOfNodesWorkersModelsAndShards) {
    const std::string metrics = metrics_text(kStatus, kDaemon);
    for (const char* line :
         {R"(pace_node_alive{node="1",name="a\"b"} 1)", R"(pace_node_alive{node="2",name="c"} 0)",
          R"(pace_worker_step_seconds{job="served",rank="1",node="2"} 0.5)",
          R"(pace_worker_active{job="served",rank="1",node="2"} 0)",
          R"(pace_model_slowest_clock{job="served"} 5)",
          R"(pace_worker_pull_waited_seconds_total{job="served",rank="0"} 1.25)",
          R"(pace_model_push_staleness_bucket{job="served",le="1"} 11)",
          R"(pace_model_push_staleness_bucket{job="served",le="+Inf"} 12)",
          R"(pace_model_push_staleness_sum{job="served"} 5)",
          R"(pace_model_checkpoint_age_seconds{job="served"} 3.5)",
          R"(pace_model_checkpoint_failed{job="served"} 0)",
          R"(pace_daemon_requests_total{name="a"} 21)", R"(pace_daemon_clients{name="a"} 2)",
          R"(pace_shard_bytes{name="a",job="served",shard="3",kind="versions"} 80)"})
        EXPECT_TRUE(has_line(metrics, line)) << line << "\n" << metrics;
}

// All samples of a family follow its one HELP and TYPE line.
TEST(MetricsText, FamiliesAreTogether) {
    std::istringstream lines(metrics_text(kStatus, kDaemon));
    std::set<std::string> families;
    std::string family;
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("# HELP ")) {
            family = line.substr(7, line.find(' ', 7) - 7);
            EXPECT_TRUE(families.insert(family).second) << family;
        } else if (line.starts_with("# TYPE ")) {
            EXPECT_EQ(line.substr(7, family.size()), family);
        } else {
            EXPECT_TRUE(line.starts_with(family)) << line;
        }
    }
    EXPECT_GT(families.size(), 10U);
}

TEST(MetricsText, DocumentsOfAnotherShapeGiveNoNonsense) {
    EXPECT_NO_THROW(metrics_text(Json::parse("[]"), Json::parse("3")));
    EXPECT_NO_THROW(metrics_text(
        Json::parse(R"({"jobs": [{"model": {"waited_by_s": [1, [2]], "staleness": ["x"]}}]})"),
        Json::parse(R"({"counters": {"x": "y"}})")));
}

}  // namespace
}  // namespace pace::pacectl
