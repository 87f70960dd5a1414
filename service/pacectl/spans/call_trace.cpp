#include "service/pacectl/spans/call_trace.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "service/pacectl/spans/call_exchanges.h"

namespace pace::pacectl {

using base::ErrorKind;
using base::make_error;
using base::Result;

namespace {

// The spans of one rank of one job, from its calls in the order in which they began.
class RankSpans {
  public:
    RankSpans(std::string node, const RecordingClock& clock, const CallExchanges& exchanges)
        : node_(std::move(node)), clock_(clock), exchanges_(exchanges) {}

    void add(uint64_t number, const CallLog::Call& call);
    // The rank's step under way, if the rank is still there and in no call.
    void add_step_under_way(bool is_there);
    std::vector<Span> take() { return std::move(spans_); }

  private:
    uint64_t to_us(uint64_t at_ns) const {
        const auto us = static_cast<int64_t>(at_ns / 1000) + clock_.to_controller_us.value_or(0);
        return static_cast<uint64_t>(std::max<int64_t>(us, 0));
    }
    Span span_of(const CallLog::Call& call, const CallLog::Exchange* exchange) const;
    void add(Span span, const std::string& name, uint64_t begin_ns, uint64_t end_ns);
    void add_computing(const CallLog::Call& call, Span span);
    void add_phases(const CallLog::Call& call, const CallLog::Exchange& exchange, Span span);
    uint64_t end_of(const CallLog::Call& call) const {
        return call.end_ns.value_or(std::max(call.begin_ns, clock_.now_ns));
    }
    uint64_t take_lane(const CallLog::Call& call);

    std::string node_;
    const RecordingClock& clock_;
    const CallExchanges& exchanges_;
    std::vector<Span> spans_;
    std::vector<uint64_t> free_from_ns_;   // of each lane
    const CallLog::Call* last_ = nullptr;  // that ends the latest
};

Json arguments_of(const CallLog::Call& call) {
    Json arguments{{"request", call.request}, {"verb", call.verb}, {"elements", call.elements}};
    if (call.end_ns)
        arguments.update({{"outcome", call.outcome}, {"bytes_sent", call.bytes_sent}});
    else
        arguments["has_ended"] = false;
    return arguments;
}

// The number of a group has 64 bits, which is not exact in every viewer: text.
Json arguments_of(const CallLog::Exchange& exchange) {
    Json arguments{{"nodes", exchange.nodes}};
    arguments[exchange.word] =
        exchange.word == "group" ? Json(std::to_string(exchange.number)) : Json(exchange.number);
    if (!exchange.waited_for.empty())
        arguments.update({{"waited_for", exchange.waited_for}, {"waited_ms", exchange.waited_ms}});
    if (!exchange.failure.empty()) arguments["failure"] = exchange.failure;
    return arguments;
}

Span RankSpans::span_of(const CallLog::Call& call, const CallLog::Exchange* exchange) const {
    Span span;
    span.job = call.job.second;
    span.run = call.run;
    span.node = node_;
    span.rank = call.rank;
    span.category = "call";
    span.step = fmt::format("request {} at {}", call.request, call.begin_ns);
    span.has_ended = call.end_ns.has_value();
    if (exchange != nullptr) span.exchange = fmt::format("{} {}", exchange->word, exchange->number);
    return span;
}

void RankSpans::add(Span span, const std::string& name, uint64_t begin_ns, uint64_t end_ns) {
    span.name = name;
    span.begin_us = to_us(begin_ns);
    span.end_us = to_us(std::max(begin_ns, end_ns));
    spans_.push_back(std::move(span));
}

// Computes until this call begins, if no other call is in flight then.
void RankSpans::add_computing(const CallLog::Call& call, Span span) {
    if (last_ == nullptr || last_->stay != call.stay || end_of(*last_) >= call.begin_ns) return;
    span.has_ended = true;
    add(std::move(span), "computing", end_of(*last_), call.begin_ns);
}

void RankSpans::add_phases(const CallLog::Call& call, const CallLog::Exchange& exchange,
                           Span span) {
    const uint64_t end_ns = end_of(call);
    const uint64_t exchange_ns = std::clamp(exchange.begin_ns, call.begin_ns, end_ns);
    span.arguments.update(arguments_of(exchange));
    Span waiting = span;
    waiting.has_ended = true;
    if (const auto last = exchanges_.last_rank(exchange)) waiting.arguments["last_to_call"] = *last;
    add(std::move(waiting), "waiting", call.begin_ns, exchange_ns);
    const bool is_well = !call.end_ns || call.outcome == "done";
    add(std::move(span), is_well ? "exchanging" : "failed", exchange_ns, end_ns);
}

uint64_t RankSpans::take_lane(const CallLog::Call& call) {
    const auto free = std::find_if(free_from_ns_.begin(), free_from_ns_.end(),
                                   [&call](uint64_t from_ns) { return from_ns <= call.begin_ns; });
    const auto lane = static_cast<uint64_t>(free - free_from_ns_.begin());
    if (free == free_from_ns_.end()) free_from_ns_.push_back(0);
    free_from_ns_[lane] = end_of(call);
    return lane;
}

void RankSpans::add(uint64_t number, const CallLog::Call& call) {
    const CallLog::Exchange* exchange = exchanges_.of(number);
    Span span = span_of(call, exchange);
    add_computing(call, span);
    span.lane = take_lane(call);
    span.arguments = arguments_of(call);
    const bool awaits_exchange = !call.end_ns && CallExchanges::serve(call.verb);
    if (exchange != nullptr)
        add_phases(call, *exchange, std::move(span));
    else
        add(std::move(span), awaits_exchange ? "waiting" : call.verb, call.begin_ns, end_of(call));
    if (last_ == nullptr || end_of(*last_) <= end_of(call)) last_ = &call;
}

void RankSpans::add_step_under_way(bool is_there) {
    if (!is_there || last_ == nullptr || !last_->end_ns) return;
    Span span = span_of(*last_, nullptr);
    span.step = "the call to come";
    span.has_ended = false;
    span.arguments = {{"has_ended", false}};
    add(std::move(span), "computing", *last_->end_ns, clock_.now_ns);
}

}  // namespace

Result<> CallTrace::add(const Json& recording) {
    if (count(recording, "recording") != 1 || !member(recording, "clock").is_object())
        return make_error(ErrorKind::invalid, "it is no recording of a daemon");
    const auto known_us = clock_.to_controller_us;
    clock_ = clock_of_recording(recording);
    if (!clock_.to_controller_us) clock_.to_controller_us = known_us;
    node_ = text(recording, "node");
    log_.add(recording);
    return {};
}

size_t CallTrace::calls(const Wanted& is_wanted) const {
    return static_cast<size_t>(
        std::count_if(log_.calls().begin(), log_.calls().end(),
                      [&](const auto& entry) { return is_wanted(entry.second.job.second); }));
}

std::vector<Span> CallTrace::spans(const Wanted& is_wanted) const {
    const CallExchanges exchanges(log_);
    std::map<std::pair<CallLog::Job, uint64_t>, std::vector<uint64_t>> calls_of_ranks;
    for (const auto& [number, call] : log_.calls())
        if (is_wanted(call.job.second)) calls_of_ranks[{call.job, call.rank}].push_back(number);
    std::vector<Span> spans;
    for (const auto& [rank, numbers] : calls_of_ranks) {
        RankSpans of_rank(node_, clock_, exchanges);
        for (const uint64_t number : numbers) of_rank.add(number, log_.calls().at(number));
        of_rank.add_step_under_way(log_.is_there(log_.calls().at(numbers.back())));
        for (Span& span : of_rank.take()) spans.push_back(std::move(span));
    }
    return spans;
}

}  // namespace pace::pacectl
