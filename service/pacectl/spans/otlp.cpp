#include "service/pacectl/spans/otlp.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace pace::pacectl {

using base::Result;

namespace {

constexpr int kKindInternal = 1;
constexpr int kStatusUnset = 0;
constexpr int kStatusError = 2;

// Zeros alone are no identifier.
std::string trace_id(const std::string& key) {
    const XXH128_hash_t hash = XXH3_128bits(key.data(), key.size());
    return fmt::format("{:016x}{:016x}", hash.high64, std::max<uint64_t>(hash.low64, 1));
}

std::string span_id(const std::string& key) {
    return fmt::format("{:016x}", std::max<uint64_t>(XXH3_64bits(key.data(), key.size()), 1));
}

// An integer of 64 bits is text in the JSON of protocol buffers.
Json any_value(const Json& value) {
    if (value.is_boolean()) return {{"boolValue", value}};
    if (value.is_number_integer()) return {{"intValue", value.dump()}};
    if (value.is_number()) return {{"doubleValue", value}};
    if (value.is_string()) return {{"stringValue", value}};
    if (!value.is_array()) return {{"stringValue", value.dump()}};
    Json values = Json::array();
    for (const Json& one : value) values.push_back(any_value(one));
    return {{"arrayValue", {{"values", std::move(values)}}}};
}

Json attribute(const std::string& key, const Json& value) {
    return {{"key", key}, {"value", any_value(value)}};
}

Json attributes_of(const Span& span) {
    Json attributes = Json::array();
    attributes.push_back(attribute("pace.job", span.job));
    attributes.push_back(attribute("pace.rank", span.rank));
    for (const auto& [key, value] : span.arguments.items())
        attributes.push_back(attribute("pace." + key, value));
    return attributes;
}

// A call that ended otherwise than it should have says so by its outcome, a group by its state.
Json status_of(const Span& span) {
    const std::string outcome = text(span.arguments, "outcome", "done");
    if (span.name != "failed" && outcome == "done") return {{"code", kStatusUnset}};
    for (const char* why : {"reason", "failure", "outcome"})
        if (span.arguments.contains(why))
            return {{"code", kStatusError}, {"message", text(span.arguments, why)}};
    return {{"code", kStatusError}};
}

std::string step_key(const Span& span) {
    return fmt::format("{}\n{}\n{}", span.node, span.rank, span.step);
}

std::string trace_key(const Span& span) {
    return fmt::format("{}\n{}\n{}", span.job, span.run,
                       span.exchange.empty() ? step_key(span) : span.exchange);
}

// The steps of ranks, and the requests that their spans fill.
class OtlpRequests {
  public:
    OtlpRequests(int64_t to_unix_us, const SendOtlp& send)
        : to_unix_us_(static_cast<uint64_t>(to_unix_us)), send_(send) {}

    using Step = std::vector<const Span*>;  // of one rank
    Result<> add(const Step& step);
    Result<> send_rest() { return spans_ == 0 ? Result<>{} : send(); }

  private:
    std::string unix_ns(uint64_t us) const { return std::to_string((us + to_unix_us_) * 1000); }
    Json json_of(const Span& span, const std::string& key) const;
    Result<> add(const std::string& node, Json span);
    Result<> send();

    uint64_t to_unix_us_;
    const SendOtlp& send_;
    std::map<std::string, Json> of_nodes_;  // spans of the next request
    size_t spans_ = 0;
};

Json OtlpRequests::json_of(const Span& span, const std::string& key) const {
    return {{"traceId", trace_id(trace_key(span))},
            {"spanId", span_id(key)},
            {"name", span.name},
            {"kind", kKindInternal},
            {"startTimeUnixNano", unix_ns(span.begin_us)},
            {"endTimeUnixNano", unix_ns(span.end_us)},
            {"attributes", attributes_of(span)},
            {"status", status_of(span)}};
}

Result<> OtlpRequests::add(const Step& step) {
    Span whole = *step.back();
    for (const Span* span : step) {
        whole.begin_us = std::min(whole.begin_us, span->begin_us);
        whole.end_us = std::max(whole.end_us, span->end_us);
    }
    const std::string key = trace_key(whole) + "\n" + step_key(whole);
    for (const Span* span : step) {
        Json child = json_of(*span, key + "\n" + span->name);
        child["parentSpanId"] = span_id(key);
        PACE_TRY(add(span->node, std::move(child)));
    }
    Json parent = json_of(whole, key);
    parent["name"] = "step";
    return add(whole.node, std::move(parent));
}

Result<> OtlpRequests::add(const std::string& node, Json span) {
    Json& spans = of_nodes_.try_emplace(node, Json::array()).first->second;
    spans.push_back(std::move(span));
    return ++spans_ < kOtlpSpansMax ? Result<>{} : send();
}

Result<> OtlpRequests::send() {
    Json resources = Json::array();
    for (auto& [node, spans] : of_nodes_) {
        const Json attributes = {attribute("service.name", "pace"),
                                 attribute("service.version", PACE_VERSION),
                                 attribute("host.name", node)};
        Json scope = {{"scope", {{"name", "pace"}, {"version", PACE_VERSION}}},
                      {"spans", std::move(spans)}};
        resources.push_back({{"resource", {{"attributes", attributes}}},
                             {"scopeSpans", Json::array({std::move(scope)})}});
    }
    of_nodes_.clear();
    return send_({{"resourceSpans", std::move(resources)}}, std::exchange(spans_, 0));
}

}  // namespace

Result<> for_each_otlp_request(const std::vector<Span>& spans, int64_t to_unix_us,
                               const SendOtlp& send) {
    using Place = std::tuple<std::string, std::string, uint64_t, std::string>;
    std::map<Place, OtlpRequests::Step> steps;
    for (const Span& span : spans)
        steps[{span.job, span.node, span.rank, span.step}].push_back(&span);
    OtlpRequests requests(to_unix_us, send);
    for (const auto& [place, step] : steps) {
        const bool has_ended =
            std::all_of(step.begin(), step.end(), [](const Span* span) { return span->has_ended; });
        if (has_ended) PACE_TRY(requests.add(step));
    }
    return requests.send_rest();
}

}  // namespace pace::pacectl
