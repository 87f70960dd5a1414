#include "service/pacectl/spans/call_trace.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "service/pacectl/recordings/recording_fixture.h"
#include "service/pacectl/spans/span_events.h"

namespace pace::pacectl {
namespace {

using Track = std::vector<std::string>;

// Recordings without the controller's clock keep the daemon's times.
Json of_node(const Json& rows) {
    return recording("a", rows, 2'000'000'000, nullptr);
}

bool every_job(const std::string&) {
    return true;
}

std::vector<Span> spans_of(const Json& document) {
    CallTrace trace;
    EXPECT_TRUE(trace.add(document));
    return trace.spans(every_job);
}

// The spans of one rank as "name begin..end", in the order of their beginnings.
Track track(std::vector<Span> spans, uint64_t rank) {
    std::stable_sort(spans.begin(), spans.end(), [](const Span& one, const Span& other) {
        return one.begin_us < other.begin_us;
    });
    Track words;
    for (const Span& span : spans)
        if (span.rank == rank)
            words.push_back(fmt::format("{} {}..{}", span.name, span.begin_us, span.end_us));
    return words;
}

const Span& span_named(const std::vector<Span>& spans, const std::string& name, uint64_t rank) {
    const auto found = std::find_if(spans.begin(), spans.end(), [&](const Span& span) {
        return span.name == name && span.rank == rank;
    });
    EXPECT_NE(found, spans.end()) << name;
    return *found;
}

// Two rounds of two ranks on node a, which the job shares with node b. Rank 1 calls last.
Json two_rounds() {
    return {row(50, "worker-joined", 0, 0),
            row(60, "worker-joined", 1, 0),
            row(100, "call-begins", 0, 7, "reduce"),
            row(300, "call-begins", 1, 3, "reduce"),
            row(310, "exchange-begins", 0, 12, "round", {1, 2}),
            row(400, "exchange-ends", 0, 12, "round"),
            row(410, "call-ends", 0, 7, "done"),
            row(420, "call-ends", 1, 3, "done"),
            row(500, "call-begins", 0, 8, "reduce"),
            row(600, "call-begins", 1, 4, "reduce"),
            row(610, "exchange-begins", 0, 13, "round", {1, 2}),
            row(700, "exchange-ends", 0, 13, "round"),
            row(700, "call-ends", 0, 8, "done"),
            row(700, "call-ends", 1, 4, "done"),
            row(710, "worker-left", 0, 0),
            row(710, "worker-left", 1, 0)};
}

TEST(CallTrace, ARankComputesThenWaitsForItsExchangeThenExchanges) {
    const auto spans = spans_of(of_node(two_rounds()));
    EXPECT_EQ(track(spans, 0),
              (Track{"waiting 100..310", "exchanging 310..410", "computing 410..500",
                     "waiting 500..610", "exchanging 610..700"}));
    EXPECT_EQ(track(spans, 1),
              (Track{"waiting 300..310", "exchanging 310..420", "computing 420..600",
                     "waiting 600..610", "exchanging 610..700"}));
}

TEST(CallTrace, SpansTellTheirExchange) {
    Json rows = two_rounds();
    rows.insert(rows.begin() + 5, row(390, "exchange-waits", 0, 12, "round", {2}));
    const auto spans = spans_of(of_node(rows));
    const Span& exchanging = span_named(spans, "exchanging", 0);
    EXPECT_EQ(exchanging.job, "fashion");
    EXPECT_EQ(exchanging.run, 1001U);
    EXPECT_EQ(exchanging.node, "a");
    EXPECT_EQ(exchanging.exchange, "round 12");
    EXPECT_EQ(exchanging.arguments["round"], 12);
    EXPECT_EQ(exchanging.arguments["verb"], "reduce");
    EXPECT_EQ(exchanging.arguments["nodes"], Json({"a", "b"}));
    EXPECT_EQ(exchanging.arguments["waited_for"], Json({"b"}));
    EXPECT_EQ(exchanging.arguments["outcome"], "done");
    EXPECT_EQ(span_named(spans, "waiting", 0).arguments["last_to_call"], 1);
    EXPECT_EQ(span_named(spans, "computing", 0).exchange, "round 13") << "the one that it led to";
}

TEST(CallTrace, ACallWithoutAnExchangeIsNamedByItsVerb) {
    const auto spans = spans_of(of_node(
        {row(100, "call-begins", 0, 1, "push"), row(110, "exchange-begins", 0, 5, "round", {1}),
         row(120, "exchange-ends", 0, 5, "round"), row(130, "call-ends", 0, 1, "done"),
         row(150, "call-begins", 0, 2, "barrier"), row(180, "call-ends", 0, 2, "done")}));
    EXPECT_EQ(track(spans, 0), (Track{"push 100..130", "computing 130..150", "barrier 150..180",
                                      "computing 180..1000000"}));
    EXPECT_EQ(span_named(spans, "push", 0).exchange, "");
}

TEST(CallTrace, WhatHasNotEndedReachesToTheRecording) {
    const Json waiting = Json::array({row(100, "call-begins", 0, 1, "reduce")});
    EXPECT_EQ(track(spans_of(of_node(waiting)), 0), (Track{"waiting 100..1000000"}));
    Json moving = waiting;
    moving.push_back(row(200, "exchange-begins", 0, 5, "round", {1}));
    moving.push_back(row(250, "call-begins", 0, 2, "reduce"));
    const auto spans = spans_of(of_node(moving));
    EXPECT_EQ(track(spans, 0),
              (Track{"waiting 100..200", "exchanging 200..1000000", "waiting 250..1000000"}));
    EXPECT_FALSE(span_named(spans, "exchanging", 0).has_ended);
    EXPECT_EQ(span_named(spans, "exchanging", 0).arguments["has_ended"], false);
}

TEST(CallTrace, ACallThatWasNotDoneHasFailed) {
    Json ends = row(400, "exchange-ends", 0, 12, "round");
    ends[8] = "unavailable";
    const auto spans = spans_of(of_node({row(100, "call-begins", 0, 1, "reduce"),
                                         row(200, "exchange-begins", 0, 12, "round", {1, 2}), ends,
                                         row(410, "call-ends", 0, 1, "aborted")}));
    EXPECT_EQ(track(spans, 0).at(1), "failed 200..410");
    EXPECT_EQ(span_named(spans, "failed", 0).arguments["failure"], "unavailable");
}

// The first exchange ended badly and was done again: the call waited for the second one.
TEST(CallTrace, TheLastExchangeServesTheCall) {
    const auto spans = spans_of(of_node(
        {row(100, "call-begins", 0, 1, "reduce"), row(200, "exchange-begins", 0, 12, "round", {1}),
         row(300, "exchange-ends", 0, 12, "round"),
         row(500, "exchange-begins", 0, 12, "round", {1}),
         row(600, "exchange-ends", 0, 12, "round"), row(600, "call-ends", 0, 1, "done"),
         row(600, "worker-left", 0, 0)}));
    EXPECT_EQ(track(spans, 0), (Track{"waiting 100..500", "exchanging 500..600"}));
}

TEST(CallTrace, CallsThatOverlapHaveLanesAndTheirOwnExchanges) {
    const auto spans = spans_of(of_node(
        {row(100, "call-begins", 0, 1, "reduce"), row(110, "call-begins", 0, 2, "reduce"),
         row(120, "exchange-begins", 0, 1, "round", {1}), row(200, "exchange-ends", 0, 1, "round"),
         row(200, "call-ends", 0, 1, "done"), row(210, "exchange-begins", 0, 2, "round", {1}),
         row(300, "exchange-ends", 0, 2, "round"), row(300, "call-ends", 0, 2, "done"),
         row(400, "call-begins", 0, 3, "reduce"), row(410, "worker-lost", 0, 0)}));
    EXPECT_EQ(track(spans, 0),
              (Track{"waiting 100..120", "waiting 110..210", "exchanging 120..200",
                     "exchanging 210..300", "computing 300..400", "reduce 400..410"}));
    std::vector<uint64_t> threads;
    for (const Json& event : span_events(spans))
        if (event["name"] == "exchanging") threads.push_back(event["tid"].get<uint64_t>());
    EXPECT_EQ(threads, (std::vector<uint64_t>{0, 1}));
    EXPECT_EQ(spans.back().arguments["outcome"], "lost");
}

TEST(CallTrace, AnOrderedGroupServesItsOwnRanks) {
    const auto spans = spans_of(of_node(
        {row(100, "call-begins", 0, 1, "average"), row(100, "call-begins", 1, 1, "average"),
         row(110, "group-ordered", 0, 900, "", {0, 5}),
         row(110, "group-ordered", 0, 901, "", {1, 6}),
         row(150, "exchange-begins", 0, 900, "group", {1, 2}),
         row(160, "exchange-begins", 0, 901, "group", {1, 2}),
         row(200, "exchange-ends", 0, 900, "group"), row(210, "exchange-ends", 0, 901, "group"),
         row(220, "call-ends", 0, 1, "done"), row(220, "call-ends", 1, 1, "done")}));
    EXPECT_EQ(track(spans, 0).at(0), "waiting 100..150");
    EXPECT_EQ(track(spans, 1).at(0), "waiting 100..160");
    EXPECT_EQ(span_named(spans, "exchanging", 0).arguments["group"], "900");
}

TEST(CallTrace, TimesAreTheControllersWhereTheRecordingKnowsThem) {
    CallTrace trace;
    ASSERT_TRUE(trace.add(recording("a", Json::array({row(100, "call-begins", 0, 1, "reduce")}))));
    EXPECT_TRUE(trace.is_on_controllers_clock());
    const Span span = trace.spans(every_job).at(0);
    EXPECT_EQ(span.begin_us, 500'100U);
    EXPECT_EQ(static_cast<int64_t>(span.begin_us) + trace.to_unix_us(), 1'000'100);
    // A daemon that is detached does not know the clock any more.
    ASSERT_TRUE(trace.add(of_node(Json::array({row(100, "call-begins", 0, 1, "reduce")}))));
    EXPECT_EQ(trace.spans(every_job).at(0).begin_us, 500'100U);
}

TEST(CallTrace, ALaterRecordingAddsWhatCameSince) {
    const Json all = two_rounds();
    Json first = all;
    first.erase(first.begin() + 7, first.end());
    Json later = all;
    later.erase(later.begin(), later.begin() + 4);
    Json second = of_node(later);
    second["written"] = all.size();
    CallTrace trace;
    ASSERT_TRUE(trace.add(of_node(first)));
    ASSERT_TRUE(trace.add(second));
    ASSERT_TRUE(trace.add(second));
    EXPECT_EQ(trace.calls(every_job), 4U);
    EXPECT_EQ(trace.missed(), 0U);
    for (uint64_t rank : {0, 1})
        EXPECT_EQ(track(trace.spans(every_job), rank), track(spans_of(of_node(all)), rank));
}

// The ends of what was under way may be among the rows that are missing.
TEST(CallTrace, MissingRowsLeaveAGap) {
    const Json all = two_rounds();
    Json first = all;
    first.erase(first.begin() + 7, first.end());
    Json later = all;
    later.erase(later.begin(), later.begin() + 8);
    Json second = of_node(later);
    second["written"] = all.size();
    CallTrace trace;
    ASSERT_TRUE(trace.add(of_node(first)));
    ASSERT_TRUE(trace.add(second));
    EXPECT_EQ(trace.missed(), 1U);
    EXPECT_EQ(track(trace.spans(every_job), 0), (Track{"waiting 100..310", "exchanging 310..410",
                                                       "waiting 500..610", "exchanging 610..700"}));
    EXPECT_EQ(track(trace.spans(every_job), 1), (Track{"waiting 600..610", "exchanging 610..700"}));
}

TEST(CallTrace, ARankThatWasAwayWasNotComputing) {
    const auto spans = spans_of(
        of_node({row(100, "call-begins", 0, 1, "pull"), row(150, "call-ends", 0, 1, "done"),
                 row(160, "worker-lost", 0, 0), row(300, "worker-joined", 0, 0),
                 row(400, "call-begins", 0, 1, "pull"), row(450, "call-ends", 0, 1, "done")}));
    EXPECT_EQ(track(spans, 0), (Track{"pull 100..150", "pull 400..450", "computing 450..1000000"}));
}

TEST(CallTrace, OnlyWantedJobsAreThere) {
    Json rows = two_rounds();
    Json served = row(200, "call-begins", 3, 1, "pull");
    served[2] = 5;
    rows.push_back(served);
    CallTrace trace;
    ASSERT_TRUE(trace.add(of_node(rows)));
    const auto is_served = [](const std::string& job) { return job == "served"; };
    EXPECT_EQ(trace.calls(is_served), 1U);
    ASSERT_EQ(trace.spans(is_served).size(), 1U);
    EXPECT_EQ(trace.spans(is_served).front().rank, 3U);
    EXPECT_EQ(trace.calls(every_job), 5U);
}

TEST(CallTrace, KeepsNoMoreCallsThanAViewerOpens) {
    CallTrace trace(2);
    ASSERT_TRUE(trace.add(of_node(two_rounds())));
    EXPECT_EQ(trace.calls(every_job), 2U);
    EXPECT_EQ(track(trace.spans(every_job), 0), (Track{"waiting 500..610", "exchanging 610..700"}));
}

// No span ends before it begins, whichever field is taken out or replaced.
TEST(CallTrace, AnyFieldMayBeMissingOrOfAnotherKind) {
    const Json whole = recording("a", two_rounds()).flatten();
    for (const auto& [path, value] : whole.items()) {
        for (const Json& other : {Json(), Json("x"), Json(-1), Json(UINT64_MAX), Json::array()}) {
            Json broken = recording("a", two_rounds());
            broken[Json::json_pointer(path)] = other;
            CallTrace trace;
            if (!trace.add(broken)) continue;
            for (const Span& span : trace.spans(every_job))
                EXPECT_LE(span.begin_us, span.end_us) << path;
        }
    }
    EXPECT_FALSE(CallTrace().add(Json::object()));
}

}  // namespace
}  // namespace pace::pacectl
