#include "service/pacectl/spans/call_log.h"

#include <algorithm>

namespace pace::pacectl {

namespace {

template <typename Item>
void keep_newest(std::map<uint64_t, Item>& items, size_t max) {
    while (items.size() > max) items.erase(items.begin());
}

uint64_t at_ns(const RecordingRow& row) {
    return row.count("at_ns");
}

void note_wait(const RecordingRow& row, const Json& nodes, CallLog::Exchange& ret_exchange) {
    ret_exchange.waited_ms = std::max(ret_exchange.waited_ms, row.count("amount"));
    auto& known = ret_exchange.waited_for;
    for (std::string& node : member_names(row, nodes))
        if (std::find(known.begin(), known.end(), node) == known.end())
            known.push_back(std::move(node));
}

}  // namespace

void CallLog::add(const Json& recording) {
    look_for_missing(recording);
    const uint64_t last_ns = last_ns_;
    for_each_row(recording, [&](const RecordingRow& row) {
        if (at_ns(row) > last_ns) add_row(row, recording);
    });
    keep_newest(calls_, kept_max_);
    keep_newest(exchanges_, kept_max_);
}

// Ends of open calls may be among the missing rows: these calls are left out. A daemon that has
// started anew counts from zero.
void CallLog::look_for_missing(const Json& recording) {
    const uint64_t written = count(recording, "written");
    const bool is_first = last_ns_ == 0;
    const uint64_t before = written < written_ ? 0 : written_;
    const uint64_t come = written - before;
    written_ = written;
    if (is_first || come <= list(recording, "rows").size()) return;
    missed_ += come - list(recording, "rows").size();
    for (const auto& [key, number] : open_calls_) calls_.erase(number);
    for (const auto& [key, number] : open_exchanges_) exchanges_.erase(number);
    open_calls_.clear();
    open_exchanges_.clear();
    stays_.clear();
}

void CallLog::add_row(const RecordingRow& row, const Json& recording) {
    last_ns_ = std::max(last_ns_, at_ns(row));
    const std::string kind = row.text("kind");
    const uint64_t number = row.count("job");
    const Job job{number, name_in(member(recording, "jobs"), number)};
    if (kind == "call-begins")
        begin_call(row, job, count(member(recording, "runs"), std::to_string(number)));
    if (kind == "call-ends") end_call(row, job);
    if (kind.starts_with("exchange-")) add_exchange(row, kind, job, member(recording, "nodes"));
    if (kind == "group-ordered") note_group(row, job);
    if (kind == "worker-joined" || kind == "worker-left" || kind == "worker-lost")
        end_stay({job, row.count("rank")}, at_ns(row));
}

void CallLog::begin_call(const RecordingRow& row, const Job& job, uint64_t run) {
    Call call;
    call.job = job;
    call.run = run;
    call.rank = row.count("rank");
    call.request = row.count("number");
    call.verb = row.text("detail");
    call.elements = row.count("amount");
    call.begin_ns = at_ns(row);
    const auto [stay, is_new] = stays_.try_emplace({job, call.rank}, stays_begun_ + 1);
    if (is_new) ++stays_begun_;
    call.stay = stay->second;
    open_calls_[{job, call.rank, call.request}] = ++begun_;
    calls_[begun_] = std::move(call);
}

// The end of a call whose begin is not known is left out.
void CallLog::end_call(const RecordingRow& row, const Job& job) {
    const auto open = open_calls_.find({job, row.count("rank"), row.count("number")});
    if (open == open_calls_.end()) return;
    if (const auto call = calls_.find(open->second); call != calls_.end()) {
        call->second.end_ns = std::max(call->second.begin_ns, at_ns(row));
        call->second.outcome = row.text("detail");
        call->second.bytes_sent = row.count("amount");
    }
    open_calls_.erase(open);
}

void CallLog::add_exchange(const RecordingRow& row, const std::string& kind, const Job& job,
                           const Json& nodes) {
    const ExchangeKey key{job, row.text("detail"), row.count("number")};
    if (kind == "exchange-begins") {
        Exchange exchange;
        exchange.job = job;
        exchange.word = row.text("detail");
        exchange.number = row.count("number");
        exchange.begin_ns = at_ns(row);
        exchange.nodes = member_names(row, nodes);
        begin_exchange(key, std::move(exchange));
        return;
    }
    const auto open = open_exchanges_.find(key);
    if (open == open_exchanges_.end()) return;
    const auto found = exchanges_.find(open->second);
    if (kind == "exchange-ends") open_exchanges_.erase(open);
    if (found == exchanges_.end()) return;
    Exchange& exchange = found->second;
    if (kind == "exchange-ends") {
        exchange.end_ns = std::max(exchange.begin_ns, at_ns(row));
        exchange.failure = row.text("failure");
    }
    if (kind == "exchange-waits") note_wait(row, nodes, exchange);
}

void CallLog::begin_exchange(const ExchangeKey& key, Exchange exchange) {
    const auto ordered = ordered_.find({exchange.job, exchange.number});
    if (exchange.word == "group" && ordered != ordered_.end()) {
        exchange.ranks = std::move(ordered->second);
        ordered_.erase(ordered);
    }
    open_exchanges_[key] = ++begun_;
    exchanges_[begun_] = std::move(exchange);
}

// A group of more ranks than the recorder keeps counts as one whose ranks are not known.
void CallLog::note_group(const RecordingRow& row, const Job& job) {
    const Json& members = row.at("members");
    if (!members.is_array() || members.size() < row.count("of")) return;
    std::vector<uint64_t>& ranks = ordered_[{job, row.count("number")}];
    ranks.clear();
    for (const Json& rank : members)
        if (rank.is_number_unsigned()) ranks.push_back(rank.get<uint64_t>());
    if (ordered_.size() > kept_max_) ordered_.erase(ordered_.begin());
}

// A worker that is gone gets no ends of its calls.
void CallLog::end_stay(const Seat& seat, uint64_t gone_ns) {
    stays_.erase(seat);
    auto open = open_calls_.lower_bound({seat.first, seat.second, 0});
    while (open != open_calls_.end() && std::get<0>(open->first) == seat.first &&
           std::get<1>(open->first) == seat.second) {
        if (const auto call = calls_.find(open->second); call != calls_.end()) {
            call->second.end_ns = std::max(call->second.begin_ns, gone_ns);
            call->second.outcome = "lost";
        }
        open = open_calls_.erase(open);
    }
}

bool CallLog::is_there(const Call& call) const {
    const auto stay = stays_.find({call.job, call.rank});
    return stay != stays_.end() && stay->second == call.stay;
}

}  // namespace pace::pacectl
