// Record: one action or observation of a daemon, in 64 bytes.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace pace::daemon {

enum class RecordKind : uint8_t {
    nothing,
    call_begins,       // rank; detail: verb; number: request; amount: elements
    call_ends,         // as call_begins, but detail: outcome; amount: bytes sent
    exchange_begins,   // detail: ExchangeWord; number: round or group; members: nodes
    exchange_ends,     // as exchange_begins; amount: bytes sent; detail_2: result
    exchange_waits,    // as exchange_begins; node: the awaited one; amount: milliseconds
    call_waits,        // rank; number: request; amount: milliseconds
    group_ordered,     // number: group; members: ranks
    view_prepared,     // number: epoch
    view_committed,    // number: epoch; members: ranks
    more_members,      // more members of the previous record
    message_in,        // from the controller; detail: protocol::control::Body; amount: bytes
    message_out,       // to the controller; as message_in
    attached,          // to the controller; number: this node's id
    detached,          // from the controller
    excluded,          // by the controller
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

// Name of the kind as used in documents: "call-begins".
std::string_view name_of(RecordKind kind);

enum class ExchangeWord : uint8_t { other, round, group };

struct Record {
    static constexpr size_t kMembers = 4;

    uint64_t at_ns = 0;  // base::now_ns(); filled in by the recorder
    RecordKind kind = RecordKind::nothing;
    uint8_t detail = 0;
    uint8_t detail_2 = 0;      // exchange_ends: base::ErrorKind; 0: success
    uint8_t members_here = 0;  // number of filled entries of `first`
    uint32_t members = 0;      // number of all members
    uint32_t job = 0;
    uint32_t rank = 0;
    uint32_t node = 0;
    uint32_t spare = 0;
    uint64_t number = 0;
    uint64_t amount = 0;
    // The first members, or those that follow the previous record's.
    std::array<uint32_t, kMembers> first{};
};
static_assert(sizeof(Record) == 64);

}  // namespace pace::daemon
