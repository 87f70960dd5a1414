// Exchange numbers: the numbers under which nodes exchange.
//
// They derive from the job's secret token, so that nobody outside the job can name one. The mixing
// is SplitMix64's finalizer, before and after a value is taken in, so that small numbers in a row
// do not meet; it is no cryptography.
#pragma once

#include <cstdint>

namespace pace::daemon {

constexpr uint64_t scatter(uint64_t z) {
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31U);
}

constexpr uint64_t mix(uint64_t state, uint64_t value) {
    return scatter(scatter(state + 0x9E3779B97F4A7C15U) ^ value);
}

enum class ExchangeKind : uint8_t {
    round = 1,
    group = 2,
    fetch = 3,
    adoption = 4,
    partial = 5,       // the start of a partial round
    partial_data = 6,  // its sum
    fetch_told = 7,    // what kind of round is fetched, in a job of partial rounds
    flat = 9,          // among workers, within a round
    handover = 10,     // what a node owes that has left
    hidden = 11,       // which zeros top-k had chosen in a result that is fetched
    link = 12,         // what the way between two nodes takes
    mail = 13,         // letters about the shards of a model
};

// `first` and `second` distinguish exchanges of a kind: (epoch, round), (group, 0), (epoch, node),
// (epoch, rank), (epoch, round) twice, (epoch, node), (epoch, the round's number), (epoch, node)
// twice, (epoch, both nodes) twice.
constexpr uint64_t exchange_number(uint64_t token, ExchangeKind kind, uint64_t first,
                                   uint64_t second) {
    return mix(mix(mix(token, static_cast<uint64_t>(kind)), first), second);
}

}  // namespace pace::daemon
