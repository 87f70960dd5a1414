#include "service/pacectl/spans/group_trace.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "service/pacectl/spans/span_events.h"

namespace pace::pacectl {
namespace {

// As service/controller/shell/status/status_json.cpp writes it. Rank 2 waits for a group to come.
Json traced() {
    return Json::parse(R"({
      "clock_us": 9000, "nodes": [{"node": 1, "name": "a"}, {"node": 2, "name": "b"}],
      "jobs": [
        {"name": "shown", "groups_ordered": 7,
         "workers": [{"rank": 2, "node": 1, "waiting_ms": 1.5}],
         "recent_groups": [
           {"group": 9223372036854775807, "state": "done", "ordered_us": 2000, "size": 2,
            "iteration": 5, "members": [
              {"rank": 0, "node": 1, "iteration": 4, "weight": 0.25, "signalled_us": 1000,
               "ended_us": 3000},
              {"rank": 1, "node": 2, "iteration": 5, "weight": 0.75, "signalled_us": 2000,
               "ended_us": 3500}]},
           {"group": 9223372036854775808, "state": "failed", "ordered_us": 5000, "size": 2,
            "reason": "the exchange failed at node 'b'", "iteration": 6, "members": [
              {"rank": 0, "node": 1, "iteration": 6, "signalled_us": 4000, "ended_us": 6000},
              {"rank": 1, "node": 2, "iteration": 6, "signalled_us": 5000, "ended_us": 6000}]},
           {"group": 9223372036854775809, "state": "moving", "ordered_us": 8000, "size": 2,
            "iteration": 7, "members": [
              {"rank": 0, "node": 1, "iteration": 7, "signalled_us": 7000, "ended_us": 8500},
              {"rank": 1, "node": 2, "iteration": 7, "signalled_us": 8000}]}]},
        {"name": "other", "recent_groups": [
           {"group": 3, "state": "done", "ordered_us": 20, "size": 1, "members": [
              {"rank": 0, "node": 1, "signalled_us": 10, "ended_us": 30}]}]},
        {"name": "all-reduce"}]})");
}

Json chrome_of(const GroupTrace& trace) {
    const Json chrome = {{"traceEvents", span_events(trace.spans())}};
    return Json::parse(chrome.dump());
}

Json trace_of(const Json& status, const std::string& job = "shown") {
    GroupTrace trace(job);
    trace.add(status);
    return chrome_of(trace);
}

// The events of one thread, as "name begin..end", in order; of all processes.
std::vector<std::string> track(const Json& trace, uint64_t rank) {
    std::vector<std::string> events;
    for (const Json& event : trace["traceEvents"]) {
        if (event["ph"] != "X" || event["tid"] != rank) continue;
        const auto begin = event["ts"].get<uint64_t>();
        events.push_back(fmt::format("{} {}..{}", event["name"].get<std::string>(), begin,
                                     begin + event["dur"].get<uint64_t>()));
    }
    return events;
}

using Track = std::vector<std::string>;

TEST(GroupTrace, ARankWaitsToTheOrderAndExchangesToItsEnd) {
    const Json trace = trace_of(traced());
    EXPECT_EQ(track(trace, 0),
              (Track{"waiting 1000..2000", "exchanging 2000..3000", "waiting 4000..5000",
                     "failed 5000..6000", "waiting 7000..8000", "exchanging 8000..8500"}));
    EXPECT_EQ(track(trace, 1),
              (Track{"waiting 2000..2000", "exchanging 2000..3500", "waiting 5000..5000",
                     "failed 5000..6000", "waiting 8000..8000", "exchanging 8000..9000"}));
    EXPECT_EQ(track(trace, 2), (Track{"waiting 7500..9000"}));
}

// As of a job with static groups: two nodes have told of their parts, and of their clocks' own
// grain. The late member called when the group counts as ordered.
TEST(GroupTrace, AStaticGroupIsDrawnLikeAnother) {
    const Json status = Json::parse(R"({
      "clock_us": 9000, "nodes": [],
      "jobs": [{"name": "shown", "options": {"policy": "prague-static"}, "groups_ordered": 1,
         "workers": [{"rank": 0, "node": 1}, {"rank": 2, "node": 2}],
         "recent_groups": [
           {"group": 5, "state": "done", "ordered_us": 3000, "size": 2, "iteration": 4,
            "members": [
              {"rank": 0, "node": 1, "iteration": 4, "signalled_us": 1000, "ended_us": 4000},
              {"rank": 2, "node": 2, "iteration": 4, "signalled_us": 3000, "ended_us": 4001}]}]}]})");
    const Json trace = trace_of(status);
    EXPECT_EQ(track(trace, 0), (Track{"waiting 1000..3000", "exchanging 3000..4000"}));
    EXPECT_EQ(track(trace, 2), (Track{"waiting 3000..3000", "exchanging 3000..4001"}));
}

TEST(GroupTrace, EventsTellTheirGroup) {
    const Json trace = trace_of(traced());
    for (const Json& event : trace["traceEvents"]) {
        if (event["name"] != "exchanging" || event["ts"] != 2000 || event["tid"] != 0) continue;
        const Json& arguments = event["args"];
        EXPECT_EQ(arguments["group"], "9223372036854775807") << "exact in every viewer";
        EXPECT_EQ(arguments["members"], Json({0, 1}));
        EXPECT_EQ(arguments["iteration"], 5);
        EXPECT_EQ(arguments["own_iteration"], 4);
        EXPECT_EQ(arguments["weight"], 0.25);
        EXPECT_EQ(arguments["state"], "done");
        return;
    }
    FAIL() << "no such event";
}

TEST(GroupTrace, AFailedGroupTellsWhy) {
    const Json trace = trace_of(traced());
    size_t failed = 0;
    for (const Json& event : trace["traceEvents"]) {
        const Json& arguments = event["args"];
        if (event["name"] != "failed") {
            EXPECT_FALSE(arguments.contains("reason"));
            continue;
        }
        EXPECT_EQ(arguments["reason"], "the exchange failed at node 'b'");
        ++failed;
    }
    EXPECT_EQ(failed, 2U) << "its members";
}

TEST(GroupTrace, ProcessesAreNodesAndThreadsAreRanks) {
    const Json trace = trace_of(traced(), "");
    std::vector<std::string> names;
    for (const Json& event : trace["traceEvents"])
        if (event["ph"] == "M")
            names.push_back(fmt::format("{} {}", event["pid"].get<int>(),
                                        event["args"]["name"].get<std::string>()));
    EXPECT_EQ(names, (Track{"1 a, job other", "1 rank 0", "2 a, job shown", "2 rank 0", "2 rank 2",
                            "3 b, job shown", "3 rank 1"}));
}

TEST(GroupTrace, ALaterDocumentAddsAndReplaces) {
    Json later = traced();
    later["clock_us"] = 20'000U;
    Json& job = later["jobs"][0];
    job["workers"] = Json::array();
    job["recent_groups"].erase(0);
    job["recent_groups"][1]["state"] = "done";
    job["recent_groups"][1]["members"][1]["ended_us"] = 9500U;
    Json next = job["recent_groups"][1];
    next["group"] = 9223372036854775810U;
    next["ordered_us"] = 12'000U;
    for (Json& part : next["members"])
        part.update({{"signalled_us", 11'000U}, {"ended_us", 13'000U}});
    job["recent_groups"].push_back(next);

    GroupTrace trace("shown");
    trace.add(traced());
    trace.add(later);
    EXPECT_EQ(trace.groups(), 4U);
    const Json chrome = chrome_of(trace);
    const Track ends = track(chrome, 1);
    EXPECT_EQ(ends.front(), "waiting 2000..2000");
    EXPECT_EQ(Track(ends.end() - 3, ends.end()),
              (Track{"exchanging 8000..9500", "waiting 11000..12000", "exchanging 12000..13000"}));
    EXPECT_TRUE(track(chrome, 2).empty()) << "it waits no more";
}

TEST(GroupTrace, KeepsNoMoreGroupsThanAViewerOpens) {
    GroupTrace trace("shown", 2);
    trace.add(traced());
    EXPECT_EQ(trace.groups(), 2U);
    EXPECT_EQ(track(chrome_of(trace), 0).front(), "waiting 4000..5000");
}

// A worker that was killed in an exchange, and one whose group was forgotten before it had ended.
TEST(GroupTrace, NothingOverlapsOnATrack) {
    Json status = traced();
    Json& groups = status["jobs"][0]["recent_groups"];
    groups[0]["members"][0]["ended_us"] = 4500U;
    groups[0]["state"] = "moving";
    groups[0]["members"][1].erase("ended_us");
    const Json trace = trace_of(status);
    EXPECT_EQ(track(trace, 0)[1], "exchanging 2000..4000");
    EXPECT_EQ(track(trace, 1)[1], "exchanging 2000..5000");
}

// No event that is written ends before it begins, whichever field is taken out or replaced.
TEST(GroupTrace, AnyFieldMayBeMissingOrOfAnotherKind) {
    const Json whole = traced().flatten();
    for (const auto& [path, value] : whole.items()) {
        for (const Json& other : {Json(), Json("x"), Json(-1), Json::array(), Json::object()}) {
            Json broken = traced();
            broken[Json::json_pointer(path)] = other;
            const Json trace = trace_of(broken, "");
            for (const Json& event : trace["traceEvents"])
                EXPECT_TRUE(event["ph"] == "M" || event["dur"].is_number_unsigned()) << path;
        }
    }
    EXPECT_TRUE(trace_of(Json::object())["traceEvents"].empty());
}

}  // namespace
}  // namespace pace::pacectl
