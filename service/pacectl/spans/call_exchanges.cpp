#include "service/pacectl/spans/call_exchanges.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <set>
#include <utility>

#include "protocol/types.h"

namespace pace::pacectl {

namespace {

bool may_have_rank(const CallLog::Exchange& exchange, uint64_t rank) {
    return exchange.ranks.empty() ||
           std::find(exchange.ranks.begin(), exchange.ranks.end(), rank) != exchange.ranks.end();
}

}  // namespace

bool CallExchanges::serve(std::string_view verb) {
    using protocol::Verb;
    static constexpr std::array kOthers{Verb::residual_save, Verb::residual_load, Verb::push,
                                        Verb::pull, Verb::checkpoint};
    return std::none_of(kOthers.begin(), kOthers.end(),
                        [verb](Verb other) { return protocol::name_of(other) == verb; });
}

// A rank's calls are served one after the other: of those that have not ended, an exchange under
// way serves the oldest.
CallExchanges::CallExchanges(const CallLog& log) {
    for (const auto& [number, exchange] : log.exchanges())
        (exchange.end_ns ? ended_ : open_)[exchange.job].push_back(&exchange);
    for (auto& [job, exchanges] : ended_)
        std::stable_sort(
            exchanges.begin(), exchanges.end(),
            [](const auto* one, const auto* other) { return *one->end_ns < *other->end_ns; });
    std::set<std::pair<CallLog::Job, uint64_t>> being_served;
    for (const auto& [number, call] : log.calls()) {
        if (!serve(call.verb)) continue;
        if (call.end_ns)
            match(number, call, find_ended(call));
        else if (being_served.insert({call.job, call.rank}).second)
            match(number, call, find_open(call));
    }
}

const CallLog::Exchange* CallExchanges::find_ended(const CallLog::Call& call) const {
    const auto found = ended_.find(call.job);
    if (found == ended_.end()) return nullptr;
    const Exchanges& exchanges = found->second;
    const auto after = std::upper_bound(
        exchanges.begin(), exchanges.end(), *call.end_ns,
        [](uint64_t end_ns, const auto* exchange) { return end_ns < *exchange->end_ns; });
    for (auto at = std::make_reverse_iterator(after); at != exchanges.rend(); ++at) {
        if (*(*at)->end_ns < call.begin_ns) break;
        if (may_have_rank(**at, call.rank)) return *at;
    }
    return nullptr;
}

const CallLog::Exchange* CallExchanges::find_open(const CallLog::Call& call) const {
    const auto found = open_.find(call.job);
    if (found == open_.end()) return nullptr;
    const Exchanges& exchanges = found->second;
    const auto last =
        std::find_if(exchanges.rbegin(), exchanges.rend(),
                     [&call](const auto* exchange) { return may_have_rank(*exchange, call.rank); });
    return last == exchanges.rend() ? nullptr : *last;
}

void CallExchanges::match(uint64_t number, const CallLog::Call& call,
                          const CallLog::Exchange* exchange) {
    if (exchange == nullptr) return;
    of_call_[number] = exchange;
    Callers& callers = callers_[exchange];
    ++callers.count;
    if (call.begin_ns < callers.last_ns) return;
    callers.last_ns = call.begin_ns;
    callers.last_rank = call.rank;
}

const CallLog::Exchange* CallExchanges::of(uint64_t call) const {
    const auto found = of_call_.find(call);
    return found == of_call_.end() ? nullptr : found->second;
}

std::optional<uint64_t> CallExchanges::last_rank(const CallLog::Exchange& exchange) const {
    const auto found = callers_.find(&exchange);
    if (found == callers_.end() || found->second.count < 2) return std::nullopt;
    return found->second.last_rank;
}

}  // namespace pace::pacectl
