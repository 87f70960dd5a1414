// Status document: what it says about events and about the workers' activities.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "service/controller/shell/status/status_json.h"

namespace pace::controller {
namespace {

using Json = nlohmann::json;

TEST(StatusJson, TellsEventsWithWhatTheyAreAbout) {
    EventRing events;
    events.add({false, "controller-started", "it has started"}, 1'700'000'000'000);
    events.add({true, "worker-died", "rank 1 died", {"fashion", 1, "node1"}}, 1'700'000'000'005);
    ShellView shell;
    shell.events = &events;
    const Json json = Json::parse(status_json(StatusView{}, shell, base::now()));
    EXPECT_EQ(json["events_first"], 1);
    EXPECT_EQ(json["events"][0], Json({{"number", 1},
                                       {"at_unix_ms", 1'700'000'000'000},
                                       {"kind", "controller-started"},
                                       {"severity", "info"},
                                       {"job", nullptr},
                                       {"rank", nullptr},
                                       {"node", nullptr},
                                       {"text", "it has started"}}));
    EXPECT_EQ(json["events"][1], Json({{"number", 2},
                                       {"at_unix_ms", 1'700'000'000'005},
                                       {"kind", "worker-died"},
                                       {"severity", "warning"},
                                       {"job", "fashion"},
                                       {"rank", 1},
                                       {"node", "node1"},
                                       {"text", "rank 1 died"}}));
}

TEST(StatusJson, TellsHowLongTheTrainingTakesAndWhatIsKeptBack) {
    StatusView view;
    JobView& shown = view.jobs.emplace_back();
    shown.workers.resize(2);
    const auto job = [&view] {
        return Json::parse(status_json(view, ShellView{}, base::now()))["jobs"][0];
    };
    EXPECT_TRUE(job()["steps"].is_null());
    EXPECT_TRUE(job()["residual"].is_null());
    EXPECT_FALSE(job()["workers"][0].contains("steps"));
    EXPECT_FALSE(job()["workers"][0].contains("residual"));
    shown.steps = StepsView{4, 100, 96.5};
    shown.residual = KeptResidual{8192, 7};
    shown.workers[0].steps = StepsView{4, 100, 96.5};
    shown.workers[1].steps = StepsView{4, 100, {}};
    shown.workers[0].residual = KeptResidual{4096, 7};
    EXPECT_EQ(job()["steps"], Json({{"done", 4}, {"total", 100}, {"left_s", 96.5}}));
    EXPECT_EQ(job()["residual"], Json({{"bytes", 8192}, {"exchanges", 7}}));
    EXPECT_EQ(job()["workers"][0]["steps"], Json({{"done", 4}, {"total", 100}, {"left_s", 96.5}}));
    EXPECT_TRUE(job()["workers"][1]["steps"]["left_s"].is_null());
    EXPECT_EQ(job()["workers"][0]["residual"], Json({{"bytes", 4096}, {"exchanges", 7}}));
}

TEST(StatusJson, TellsWhatWorkersDoAndWhoIsSlow) {
    StatusView view;
    view.nodes.resize(1);
    view.nodes[0].draining = true;
    view.nodes[0].release = "1.2.3";
    JobView& shown = view.jobs.emplace_back();
    shown.workers.resize(2);
    shown.stage = JobStage::finished;
    shown.finished_for = std::chrono::seconds(3);
    shown.workers[0].doing = Doing::waiting;
    shown.workers[0].doing_for = std::chrono::milliseconds(1500);
    shown.workers[0].computed = {.total_s = 2.5, .median = std::chrono::milliseconds(30)};
    shown.workers[0].slow =
        Slowness{SlowWhy::stopped, 12, std::chrono::seconds(4), "its process is stopped"};
    const Json json = Json::parse(status_json(view, ShellView{}, base::now()));
    EXPECT_EQ(json["nodes"][0]["draining"], true);
    EXPECT_EQ(json["nodes"][0]["version"], "1.2.3");
    const Json& job = json["jobs"][0];
    EXPECT_EQ(job["state"], "finished");
    EXPECT_EQ(job["finished_s"], 3.0);
    EXPECT_EQ(job["workers"][0]["activity"], "waiting");
    EXPECT_EQ(job["workers"][0]["activity_s"], 1.5);
    EXPECT_EQ(job["workers"][0]["computed"], Json({{"total_s", 2.5}, {"median_ms", 30.0}}));
    EXPECT_EQ(job["workers"][0]["slow"], Json({{"factor", 12.0},
                                               {"since_s", 4.0},
                                               {"why", "stopped"},
                                               {"text", "its process is stopped"}}));
    EXPECT_TRUE(job["workers"][1]["activity"].is_null());
    EXPECT_TRUE(job["workers"][1]["slow"].is_null());
}

}  // namespace
}  // namespace pace::controller
