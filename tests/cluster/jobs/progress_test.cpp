// Progress tests: the progress that trainers report, as other processes see it.
#include <chrono>
#include <cmath>
#include <string>

#include <gtest/gtest.h>

#include "base/clock.h"
#include "tests/cluster/harness/cluster.h"
#include "tests/cluster/harness/worker.h"

namespace pace::cluster {
namespace {

constexpr std::chrono::seconds kPatience(60);

// Returns the output of `pacectl ARGUMENT` once it contains the words. Heartbeats bring the words.
std::string said_by(Cluster& cluster, const std::string& argument, const std::string& words) {
    const auto end = base::now() + kPatience;
    std::string said;
    do said = cluster.pacectl(1, {argument});
    while (said.find(words) == std::string::npos && base::now() < end);
    EXPECT_NE(said.find(words), std::string::npos) << said;
    return said;
}

void report(Worker& worker, uint32_t flags, double loss, double rate) {
    pace_progress progress = PACE_PROGRESS_INIT;
    progress.flags = flags;
    progress.loss = loss;
    progress.samples_per_s = rate;
    pace_error error;
    EXPECT_EQ(pace_session_report(worker.session(), &progress, &error), PACE_OK) << error.message;
}

TEST(Progress, OfATrainerIsSeenOnAnotherNode) {
    Cluster cluster({.nodes = 2});
    Worker worker({.endpoint = cluster.endpoint(0)});
    EXPECT_EQ(cluster.pacectl(1, {"status"}).find("LOSS"), std::string::npos)
        << "nobody has told any";
    report(worker, PACE_PROGRESS_LOSS | PACE_PROGRESS_RATE, 0.25, 1250);
    const std::string status = said_by(cluster, "status", "LOSS");
    EXPECT_NE(status.find("0.25"), std::string::npos) << status;
    EXPECT_NE(status.find("1250"), std::string::npos) << status;
    const std::string metrics = said_by(cluster, "metrics", "pace_worker_loss");
    EXPECT_NE(metrics.find("pace_worker_loss{pace_job=\"test\",rank=\"0\",node=\"node0\"} 0.25\n"),
              std::string::npos)
        << metrics;
    EXPECT_NE(metrics.find("pace_worker_samples_per_second"), std::string::npos);
}

TEST(Progress, StepsAreSeenOnAnotherNodeWithTheTimeThatIsLeft) {
    Cluster cluster({.nodes = 2});
    Worker worker({.endpoint = cluster.endpoint(0)});
    EXPECT_EQ(cluster.pacectl(1, {"status"}).find("training:"), std::string::npos);
    pace_progress progress = PACE_PROGRESS_INIT;
    progress.flags = PACE_PROGRESS_STEPS;
    progress.steps_total = 1'000'000'000'000;
    std::string said;
    const auto end = base::now() + kPatience;
    while (said.find(" left") == std::string::npos && base::now() < end) {
        ++progress.steps_done;
        EXPECT_EQ(pace_session_report(worker.session(), &progress, nullptr), PACE_OK);
        said = cluster.pacectl(1, {"status"});
    }
    EXPECT_NE(said.find("training: "), std::string::npos) << said;
    EXPECT_NE(said.find(" of 1000000000000 steps, "), std::string::npos) << said;
}

TEST(Progress, ALossThatIsNoNumberIsShownAsNone) {
    Cluster cluster({.nodes = 2});
    Worker worker({.endpoint = cluster.endpoint(0)});
    report(worker, PACE_PROGRESS_LOSS, std::nan(""), 0);
    said_by(cluster, "status", "not finite");
    EXPECT_EQ(cluster.pacectl(1, {"metrics"}).find("pace_worker_loss"), std::string::npos);
}

TEST(Progress, OfManyReportsAtOnceTheFirstIsTold) {
    Cluster cluster({.nodes = 2});
    Worker worker({.endpoint = cluster.endpoint(0)});
    for (int step = 0; step < 100; ++step) report(worker, PACE_PROGRESS_LOSS, 7.5 + step, 0);
    said_by(cluster, "status", "7.5");
}

}  // namespace
}  // namespace pace::cluster
