#include "service/pacectl/spans/otlp.h"

#include <regex>
#include <set>

#include <gtest/gtest.h>

namespace pace::pacectl {
namespace {

using base::ErrorKind;
using base::make_error;
using base::Result;

Span span(const std::string& name, uint64_t begin_us, uint64_t end_us, uint64_t rank = 0,
          const std::string& node = "a") {
    Span span;
    span.job = "fashion";
    span.node = node;
    span.rank = rank;
    span.name = name;
    span.begin_us = begin_us;
    span.end_us = end_us;
    span.exchange = "round 12";
    span.step = "request 3 at 100";
    return span;
}

std::vector<Span> one_step(uint64_t rank = 0, const std::string& node = "a") {
    return {span("computing", 50, 100, rank, node), span("waiting", 100, 200, rank, node),
            span("exchanging", 200, 300, rank, node)};
}

constexpr int64_t kToUnixUs = 1'000'000;

std::vector<Json> requests_of(const std::vector<Span>& spans) {
    std::vector<Json> requests;
    const auto made =
        for_each_otlp_request(spans, kToUnixUs, [&](const Json& request, size_t) -> Result<> {
            requests.push_back(request);
            return {};
        });
    EXPECT_TRUE(made);
    return requests;
}

// All spans of all requests, by their names.
std::multimap<std::string, Json> sent(const std::vector<Span>& spans) {
    std::multimap<std::string, Json> by_name;
    for (const Json& request : requests_of(spans))
        for (const Json& resource : request["resourceSpans"])
            for (const Json& scope : resource["scopeSpans"])
                for (const Json& one : scope["spans"]) by_name.emplace(one["name"], one);
    return by_name;
}

Json attribute_of(const Json& attributes, const std::string& key) {
    for (const Json& attribute : attributes)
        if (attribute["key"] == key) return attribute["value"];
    return {};
}

TEST(Otlp, AStepIsTheParentOfWhatTheRankDidInIt) {
    const auto spans = sent(one_step());
    ASSERT_EQ(spans.size(), 4U);
    const Json& step = spans.find("step")->second;
    EXPECT_FALSE(step.contains("parentSpanId"));
    EXPECT_EQ(step["startTimeUnixNano"], "1000050000");
    EXPECT_EQ(step["endTimeUnixNano"], "1000300000");
    for (const char* name : {"computing", "waiting", "exchanging"}) {
        const Json& child = spans.find(name)->second;
        EXPECT_EQ(child["parentSpanId"], step["spanId"]);
        EXPECT_EQ(child["traceId"], step["traceId"]);
        EXPECT_EQ(child["kind"], 1);
    }
    EXPECT_EQ(spans.find("waiting")->second["startTimeUnixNano"], "1000100000");
}

TEST(Otlp, IdentifiersAreValidAndEachSpansOwn) {
    std::vector<Span> all = one_step();
    for (const Span& other : one_step(1)) all.push_back(other);
    std::set<std::string> seen;
    for (const auto& [name, one] : sent(all)) {
        EXPECT_TRUE(
            std::regex_match(one["traceId"].get<std::string>(), std::regex("[0-9a-f]{32}")));
        EXPECT_TRUE(std::regex_match(one["spanId"].get<std::string>(), std::regex("[0-9a-f]{16}")));
        EXPECT_TRUE(seen.insert(one["spanId"]).second);
    }
    EXPECT_EQ(seen.size(), 8U);
}

TEST(Otlp, RanksOfOneExchangeMeetInOneTraceWhereverTheyAreSentFrom) {
    const auto here = sent(one_step(0, "a"));
    const auto there = sent(one_step(1, "b"));
    EXPECT_EQ(here.find("step")->second["traceId"], there.find("step")->second["traceId"]);
    EXPECT_EQ(sent(one_step()), here) << "sent again, it is the same";
    std::vector<Span> next = one_step();
    for (Span& one : next) one.exchange = "round 13";
    EXPECT_NE(sent(next).find("step")->second["traceId"], here.find("step")->second["traceId"]);
    next = one_step();
    for (Span& one : next) one.run = 2;
    EXPECT_NE(sent(next).find("step")->second["traceId"], here.find("step")->second["traceId"]);
}

TEST(Otlp, ACallWithoutAnExchangeIsATraceOfItsOwn) {
    std::vector<Span> spans{span("push", 10, 20, 0), span("push", 10, 20, 1)};
    for (Span& one : spans) one.exchange.clear();
    std::set<std::string> traces;
    for (const auto& [name, one] : sent(spans)) traces.insert(one["traceId"]);
    EXPECT_EQ(traces.size(), 2U);
}

TEST(Otlp, ResourcesAreNodes) {
    std::vector<Span> all = one_step(0, "a");
    for (const Span& other : one_step(1, "b")) all.push_back(other);
    const auto requests = requests_of(all);
    ASSERT_EQ(requests.size(), 1U);
    const Json& resources = requests[0]["resourceSpans"];
    ASSERT_EQ(resources.size(), 2U);
    for (size_t i = 0; i < 2; ++i) {
        const Json& attributes = resources[i]["resource"]["attributes"];
        EXPECT_EQ(attribute_of(attributes, "service.name")["stringValue"], "pace");
        EXPECT_EQ(attribute_of(attributes, "host.name")["stringValue"], i == 0 ? "a" : "b");
        EXPECT_EQ(resources[i]["scopeSpans"][0]["scope"]["name"], "pace");
        EXPECT_EQ(resources[i]["scopeSpans"][0]["spans"].size(), 4U);
    }
}

TEST(Otlp, AttributesKeepTheirKinds) {
    Span one = span("exchanging", 1, 2, 3);
    one.arguments = {{"round", 12U},
                     {"verb", "reduce"},
                     {"weight", 0.5},
                     {"is_late", true},
                     {"nodes", {"a", "b"}}};
    const auto spans = sent({one});
    const Json& attributes = spans.find("exchanging")->second["attributes"];
    EXPECT_EQ(attribute_of(attributes, "pace.job"), Json({{"stringValue", "fashion"}}));
    EXPECT_EQ(attribute_of(attributes, "pace.rank"), Json({{"intValue", "3"}}));
    EXPECT_EQ(attribute_of(attributes, "pace.round"), Json({{"intValue", "12"}}));
    EXPECT_EQ(attribute_of(attributes, "pace.verb"), Json({{"stringValue", "reduce"}}));
    EXPECT_EQ(attribute_of(attributes, "pace.weight"), Json({{"doubleValue", 0.5}}));
    EXPECT_EQ(attribute_of(attributes, "pace.is_late"), Json({{"boolValue", true}}));
    EXPECT_EQ(attribute_of(attributes, "pace.nodes")["arrayValue"]["values"][1],
              Json({{"stringValue", "b"}}));
}

TEST(Otlp, WhatFailedHasTheStatusOfAnError) {
    Span failed = span("failed", 1, 2);
    failed.arguments = {{"outcome", "aborted"}, {"failure", "unavailable"}};
    for (const auto& [name, one] : sent({failed})) {
        EXPECT_EQ(one["status"]["code"], 2) << name;
        EXPECT_EQ(one["status"]["message"], "unavailable");
    }
    for (const auto& [name, one] : sent(one_step())) EXPECT_EQ(one["status"]["code"], 0);
}

TEST(Otlp, AStepThatHasNotEndedIsNotSent) {
    std::vector<Span> spans = one_step();
    spans.back().has_ended = false;
    EXPECT_TRUE(requests_of(spans).empty());
}

TEST(Otlp, ARequestHasAtMostAThousandSpans) {
    std::vector<Span> spans;
    for (uint64_t rank = 0; rank < 600; ++rank)
        spans.push_back(span("push", 10, 20, rank, rank % 2 == 0 ? "a" : "b"));
    std::vector<size_t> sizes;
    const auto note_size = [&](const Json& request, size_t count) -> Result<> {
        size_t in_it = 0;
        for (const Json& resource : request["resourceSpans"])
            in_it += resource["scopeSpans"][0]["spans"].size();
        EXPECT_EQ(in_it, count);
        sizes.push_back(count);
        return {};
    };
    ASSERT_TRUE(for_each_otlp_request(spans, kToUnixUs, note_size));
    EXPECT_EQ(sizes, (std::vector<size_t>{1000, 200}));
    size_t tried = 0;
    const auto refuse = [&](const Json&, size_t) -> Result<> {
        ++tried;
        return make_error(ErrorKind::aborted, "no");
    };
    EXPECT_FALSE(for_each_otlp_request(spans, kToUnixUs, refuse));
    EXPECT_EQ(tried, 1U) << "nothing is sent after a failure";
}

}  // namespace
}  // namespace pace::pacectl
