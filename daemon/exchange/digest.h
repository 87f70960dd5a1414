// Digests: what nodes must agree on before they exchange, and the numbers under which they do.
//
// Exchange numbers derive from the job's secret token, so that nobody outside the job can name one. The mixing is
// SplitMix64's finalizer, before and after a value is taken in, so that small numbers in a row do not meet; it is no cryptography.
#pragma once

#include <cstdint>

#include "daemon/exchange/request.h"

namespace pace::daemon {

constexpr uint64_t scatter(uint64_t z) {
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31U);
}

constexpr uint64_t mix(uint64_t state, uint64_t value) {
    return scatter(scatter(state + 0x9E3779B97F4A7C15U) ^ value);
}

// Of types and counts, in order.
inline uint32_t digest_of(const std::vector<BufferPtr>& buffers) {
    uint64_t state = buffers.size();
    for (const BufferPtr& buffer : buffers)
        state = mix(mix(state, static_cast<uint64_t>(buffer->dtype)), buffer->count);
    return static_cast<uint32_t>(state);
}

// Of an average: those of a group are made from the same end, and travel in the same pieces.
inline uint32_t digest_of(const std::vector<BufferPtr>& buffers, protocol::Order order) {
    const uint32_t digest = digest_of(buffers);
    if (order == protocol::Order::all_at_once) return digest;
    return static_cast<uint32_t>(mix(digest, static_cast<uint64_t>(order)));
}

// Of all that the workers of a round must agree on.
inline uint32_t check_of(const Request& request) {
    const uint64_t head = static_cast<uint64_t>(request.verb) | static_cast<uint64_t>(request.op)
                                                                    << 8U;
    return static_cast<uint32_t>(
        mix(mix(mix(request.digest, head), request.root), request.buffers.size()));
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

// `first` and `second` distinguish exchanges of a kind: (epoch, round), (group, 0), (epoch, node), (epoch, rank), (epoch, round) twice,
// (epoch, node), (epoch, the round's number), (epoch, node) twice, (epoch, both nodes) twice.
constexpr uint64_t exchange_number(uint64_t token, ExchangeKind kind, uint64_t first,
                                   uint64_t second) {
    return mix(mix(mix(token, static_cast<uint64_t>(kind)), first), second);
}

}  // namespace pace::daemon
