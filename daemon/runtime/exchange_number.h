// Exchange numbers: the numbers under which nodes exchange.
//
// They are keyed hashes of the job's secret token (HMAC-SHA-256), so that nobody outside the job
// can name one, and nobody who sees some of them can compute another or the token.
#pragma once

#include <cstdint>

namespace pace::daemon {

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
uint64_t exchange_number(uint64_t token, ExchangeKind kind, uint64_t first, uint64_t second);

// One of several exchanges that share an exchange number. The shared number itself is not used
// then.
uint64_t part_number(uint64_t number, uint64_t part);

}  // namespace pace::daemon
