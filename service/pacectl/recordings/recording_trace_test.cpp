#include "service/pacectl/recordings/recording_trace.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "service/pacectl/recordings/recording_fixture.h"

namespace pace::pacectl {
namespace {

Json chrome_of(const Json& document) {
    RecordingTrace trace;
    const auto added = trace.add(document);
    EXPECT_TRUE(added) << (added ? "" : added.error().message);
    return trace.chrome();
}

// The events of this name, names of tracks left out.
std::vector<Json> events_of(const Json& trace, const std::string& name) {
    std::vector<Json> found;
    for (const Json& event : trace["traceEvents"])
        if (event["name"] == name) found.push_back(event);
    return found;
}

TEST(RecordingTrace, ACallIsABarOnItsRanksTrack) {
    const Json trace = chrome_of(recording(
        "a", {row(100, "call-begins", 3, 7, "reduce"), row(350, "call-ends", 3, 7, "done")}));
    const auto bars = events_of(trace, "reduce");
    ASSERT_EQ(bars.size(), 1U);
    EXPECT_EQ(bars[0]["ph"], "X");
    EXPECT_EQ(bars[0]["ts"], 100.0);
    EXPECT_EQ(bars[0]["dur"], 250.0);
    EXPECT_EQ(bars[0]["args"]["outcome"], "done");
    EXPECT_EQ(bars[0]["args"]["elements"], 10);
    bool is_named = false;
    for (const Json& name : events_of(trace, "thread_name"))
        is_named = is_named || (name["args"]["name"] == "rank    3" &&
                                name["tid"] == bars[0]["tid"] && name["pid"] == bars[0]["pid"]);
    EXPECT_TRUE(is_named);
}

TEST(RecordingTrace, AnExchangeHasItsNodesAndWaitsHaveThoseThatAreWaitedFor) {
    const Json trace =
        chrome_of(recording("a", {row(100, "exchange-begins", 0, 12, "round", {1, 2}),
                                  row(200, "exchange-waits", 0, 12, "round", {2}),
                                  row(300, "exchange-ends", 0, 12, "round")}));
    const auto bars = events_of(trace, "round 12");
    ASSERT_EQ(bars.size(), 1U);
    EXPECT_EQ(bars[0]["args"]["nodes"], Json({"a", "b"}));
    EXPECT_EQ(bars[0]["dur"], 200.0);
    const auto waits = events_of(trace, "exchange-waits");
    ASSERT_EQ(waits.size(), 1U);
    EXPECT_EQ(waits[0]["args"]["for"], Json({"b"}));
}

TEST(RecordingTrace, MembersThatDidNotFitIntoTheirRowAreThere) {
    const Json trace = chrome_of(
        recording("a", {row(1, "view-committed", 0, 9, "", {0, 1, 2, 3}),
                        row(1, "more-members", 0, 9, "", {4, 5}), row(2, "view-prepared", 0, 10)}));
    const auto views = events_of(trace, "view-committed");
    ASSERT_EQ(views.size(), 1U);
    EXPECT_EQ(views[0]["args"]["ranks"], Json({0, 1, 2, 3, 4, 5}));
    EXPECT_TRUE(events_of(trace, "more-members").empty());
}

TEST(RecordingTrace, WhatHasNotEndedGoesOnToTheEndAndWhatHasNotBegunIsLeftOut) {
    const Json trace = chrome_of(
        recording("a", {row(50, "call-ends", 3, 6, "done"), row(100, "call-begins", 3, 7, "reduce"),
                        row(900, "worker-lost", 3, 0)}));
    const auto bars = events_of(trace, "reduce");
    ASSERT_EQ(bars.size(), 1U);
    EXPECT_EQ(bars[0]["dur"], 800.0);
    EXPECT_EQ(bars[0]["args"]["has_ended"], false);
    EXPECT_EQ(events_of(trace, "worker-lost").size(), 1U);
}

// Bars of one track that overlapped would be drawn wrongly, or dropped.
TEST(RecordingTrace, CallsThatOverlapGoSideBySide) {
    const Json trace = chrome_of(recording(
        "a", {row(100, "call-begins", 3, 7, "reduce"), row(150, "call-begins", 3, 8, "reduce"),
              row(200, "call-ends", 3, 7, "done"), row(250, "call-ends", 3, 8, "done"),
              row(260, "call-begins", 3, 9, "reduce")}));
    const auto bars = events_of(trace, "reduce");
    ASSERT_EQ(bars.size(), 3U);
    EXPECT_NE(bars[0]["tid"], bars[1]["tid"]);
    EXPECT_EQ(bars[0]["tid"], bars[2]["tid"]);
}

TEST(RecordingTrace, NodesAreMergedByTheControllersClock) {
    const Json begin_a = row(100, "call-begins", 0, 1, "reduce");
    // The clock of b is two seconds ahead, and its wall clock is wrong.
    const Json begin_b = row(2'000'100, "call-begins", 1, 1, "reduce");
    RecordingTrace trace;
    ASSERT_TRUE(trace.add(recording("a", Json::array({begin_a}))));
    ASSERT_TRUE(trace.add(recording("b", Json::array({begin_b}), 77, -1'500'000'000)));
    EXPECT_TRUE(trace.is_exact());
    EXPECT_EQ(trace.nodes(), 2U);
    const auto bars = events_of(trace.chrome(), "reduce");
    ASSERT_EQ(bars.size(), 2U);
    EXPECT_EQ(bars[0]["ts"], bars[1]["ts"]);
    EXPECT_NE(bars[0]["pid"], bars[1]["pid"]);
}

TEST(RecordingTrace, NodesAreMergedByWallClocksIfOneDoesNotKnowTheControllers) {
    RecordingTrace trace;
    ASSERT_TRUE(trace.add(recording("a", Json::array({row(100, "call-begins", 0, 1, "reduce")}))));
    ASSERT_TRUE(trace.add(recording("b", Json::array({row(100, "call-begins", 1, 1, "reduce")}),
                                    3'000'000'000, nullptr)));
    EXPECT_FALSE(trace.is_exact());
    const auto bars = events_of(trace.chrome(), "reduce");
    ASSERT_EQ(bars.size(), 2U);
    EXPECT_EQ(bars[1]["ts"].get<double>() - bars[0]["ts"].get<double>(), 1e6);
}

TEST(RecordingTrace, ATraceOfOneNodeIsMergedAsItsRecordingWouldBe) {
    const Json one = recording("a", Json::array({row(100, "call-begins", 0, 1, "reduce")}));
    const Json other = recording("b", Json::array({row(200, "call-begins", 1, 1, "reduce")}));
    RecordingTrace of_recordings;
    RecordingTrace of_traces;
    for (const Json& document : {one, other}) {
        ASSERT_TRUE(of_recordings.add(document));
        ASSERT_TRUE(of_traces.add(chrome_of(document)));
    }
    EXPECT_EQ(of_traces.chrome(), of_recordings.chrome());
    const auto again = of_recordings.add(of_traces.chrome());
    ASSERT_FALSE(again);
    EXPECT_NE(again.error().message.find("merged already"), std::string::npos);
}

TEST(RecordingTrace, WhatMakesNoSenseHarmsNobody) {
    RecordingTrace trace;
    EXPECT_FALSE(trace.add(Json::object()));
    EXPECT_FALSE(trace.add({{"traceEvents", Json::array()}}));
    Json odd = recording("a", {Json(),
                               5,
                               Json::array(),
                               {-1, "call-ends"},
                               {"x", "call-begins"},
                               row(5, "of another release", 0, 0)});
    odd["columns"].push_back(7);
    odd["jobs"] = 3;
    EXPECT_TRUE(trace.add(odd));
    EXPECT_TRUE(trace.chrome()["traceEvents"].is_array());
}

}  // namespace
}  // namespace pace::pacectl
