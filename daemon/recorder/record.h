// Record: one thing that a daemon did or learned, in 64 bytes.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace pace::daemon {

enum class RecordKind : uint8_t {
    nothing,
    call_begins,       // rank; detail: verb; number: of the request; amount: elements
    call_ends,         // the same; detail: outcome; amount: bytes that were sent for it
    exchange_begins,   // detail: ExchangeWord; number: of the round or group; members: nodes
    exchange_ends,     // the same; amount: bytes sent; detail_2: what became of it
    exchange_waits,    // as it began; node: for whom; amount: milliseconds
    call_waits,        // rank; number: of the request; amount: milliseconds
    group_ordered,     // number: of the group; members: ranks
    view_prepared,     // number: epoch
    view_committed,    // number: epoch; members: ranks
    more_members,      // of the record before
    message_in,        // from the controller; detail: of protocol::control::Body; amount: bytes
    message_out,       // the same, to it
    attached,          // to the controller; number: as which node
    detached,          // from it
    excluded,          // by it
    peer_lost,         // node
    peer_gone,         // node
    peer_silent,       // node; amount: milliseconds
    peer_back,         // node; amount: milliseconds
    worker_joined,     // rank
    worker_left,       // rank, in order
    worker_lost,       // rank
    worker_suspended,  // rank
    worker_stopped,    // rank, by a signal
    worker_continues,  // rank
    loop_stood_still,  // amount: microseconds
};

// In words, as documents have it: "call-begins".
std::string_view name_of(RecordKind kind);

enum class ExchangeWord : uint8_t { other, round, group };

struct Record {
    static constexpr size_t kMembers = 4;

    uint64_t at_ns = 0;  // base::now_ns(); filled in by the recorder
    RecordKind kind = RecordKind::nothing;
    uint8_t detail = 0;
    uint8_t detail_2 = 0;      // exchange_ends: base::ErrorKind; 0: it ended well
    uint8_t members_here = 0;  // of `members`, that are filled
    uint32_t members = 0;      // that there are
    uint32_t job = 0;
    uint32_t rank = 0;
    uint32_t node = 0;
    uint32_t spare = 0;
    uint64_t number = 0;
    uint64_t amount = 0;
    std::array<uint32_t, kMembers> first{};  // of its members, or of those after the record before
};
static_assert(sizeof(Record) == 64);

}  // namespace pace::daemon
