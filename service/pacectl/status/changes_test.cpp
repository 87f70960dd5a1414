#include "service/pacectl/status/changes.h"

#include <gtest/gtest.h>

namespace pace::pacectl {
namespace {

Json two_jobs() {
    return Json::parse(R"({
      "nodes": [{"node": 1, "name": "alpha", "status": "alive"},
                {"node": 2, "name": "beta", "status": "alive"}],
      "jobs": [
        {"name": "a", "started": false, "state": "joining",
         "workers": [{"rank": 0, "node": 1, "status": "active", "slow": null},
                     {"rank": 1, "node": 2, "status": "late", "slow": null}]},
        {"name": "b", "started": true, "state": "running", "workers": []}]})");
}

std::vector<std::string> lines_of_changes(const Json& before, const Json& after,
                                          const std::string& job = {}) {
    std::vector<std::string> all;
    for (const Change& change : changes_between(before, after, job))
        all.push_back(change_line(change));
    return all;
}

using Lines = std::vector<std::string>;

TEST(Changes, TheFirstLookTellsHowThingsAre) {
    EXPECT_EQ(lines_of_changes({}, two_jobs()),
              (Lines{"node alpha: alive", "node beta: alive", "job a: joining", "job b: running",
                     "job a rank 1 on beta: late"}));
    EXPECT_EQ(lines_of_changes({}, two_jobs(), "b"),
              (Lines{"node alpha: alive", "node beta: alive", "job b: running"}));
}

TEST(Changes, NothingNewIsNoLine) {
    EXPECT_EQ(lines_of_changes(two_jobs(), two_jobs()), Lines{});
}

TEST(Changes, TellsWhatWasBefore) {
    Json after = two_jobs();
    after["nodes"][1]["status"] = "suspected";
    after["jobs"][0]["state"] = "running";
    after["jobs"][0]["workers"][1]["status"] = "active";
    after["jobs"].erase(1);
    EXPECT_EQ(lines_of_changes(two_jobs(), after),
              (Lines{"node beta: suspected (was alive)", "job a: running (was joining)",
                     "job a rank 1 on beta: active (was late)", "job b: gone (was running)"}));
}

TEST(Changes, WhoIsSlowIsToldOnceWhateverTheFactor) {
    Json slow = two_jobs();
    Json& told = slow["jobs"][0]["workers"][0]["slow"];
    told = {{"factor", 4.0}, {"since_s", 3.0}, {"why", "computing"}, {"text", "longer steps"}};
    EXPECT_EQ(lines_of_changes(two_jobs(), slow),
              (Lines{"job a rank 0 on alpha: slow, 4.0 times the median for 3.0 s, computing: "
                     "longer steps"}));
    Json still = slow;
    still["jobs"][0]["workers"][0]["slow"]["factor"] = 5.0;
    EXPECT_EQ(lines_of_changes(slow, still), Lines{});
    still["jobs"][0]["workers"][0]["slow"]["why"] = "stopped";
    EXPECT_EQ(lines_of_changes(slow, still).size(), 1U);
    EXPECT_EQ(lines_of_changes(slow, two_jobs()),
              (Lines{"job a rank 0 on alpha: not slow any more"}));
    EXPECT_FALSE(holds("no-slow", {}, slow, "a"));
}

TEST(Changes, ForProgramsNothingIsLeftOut) {
    Json after = two_jobs();
    after["jobs"][0]["workers"][1]["status"] = "active";
    const Json json = change_json(changes_between(two_jobs(), after, {}).at(0));
    EXPECT_EQ(json["what"], "worker");
    EXPECT_EQ(json["job"], "a");
    EXPECT_EQ(json["rank"], 1U);
    EXPECT_EQ(json["node"], "beta");
    EXPECT_EQ(json["from"], "late");
    EXPECT_EQ(json["to"], "active");
}

TEST(Conditions, HoldOfTheJobThatIsNamedOrOfAll) {
    Json status = two_jobs();
    EXPECT_FALSE(holds("started", {}, status, ""));
    EXPECT_TRUE(holds("started", {}, status, "b"));
    EXPECT_FALSE(holds("started", {}, status, "c")) << "it is not there yet";
    EXPECT_FALSE(holds("no-slow", {}, status, "a")) << "it has not begun";
    EXPECT_TRUE(holds("no-slow", {}, status, "b"));
    status["jobs"][0]["state"] = "finished";
    EXPECT_TRUE(holds("started", {}, status, ""));
    EXPECT_TRUE(holds("finished", {}, status, "a"));
    EXPECT_FALSE(holds("finished", {}, status, ""));
    status["jobs"] = Json::array();
    EXPECT_FALSE(holds("finished", {}, status, "")) << "of no job nothing holds";
}

TEST(Conditions, AJobThatIsThereNoMoreHasFinished) {
    const Json before = two_jobs();
    Json status = two_jobs();
    status["jobs"] = Json::array();
    EXPECT_TRUE(holds("finished", before, status, "a"));
    EXPECT_TRUE(holds("finished", before, status, ""));
    EXPECT_FALSE(holds("finished", before, status, "c")) << "it has never been there";
    EXPECT_FALSE(holds("started", before, status, "a"));
    status["events"] = {{{"kind", "job-started"}, {"job", "c"}},
                        {{"kind", "job-ended"}, {"job", "c"}},
                        {{"kind", "worker-left"}, {"job", "c"}}};
    EXPECT_TRUE(holds("finished", before, status, "c")) << "before anybody looked";
    status["events"].push_back({{"kind", "job-created"}, {"job", "c"}});
    EXPECT_FALSE(holds("finished", before, status, "c"));
}

TEST(Conditions, OfAnOlderControllerTheSlowestIsSlow) {
    Json status = two_jobs();
    status["jobs"][1]["slowest"] = {{"rank", 0}, {"factor", 3.0}};
    EXPECT_FALSE(holds("no-slow", {}, status, "b"));
}

}  // namespace
}  // namespace pace::pacectl
