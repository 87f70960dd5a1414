// What UcxTransports say to each other: one header before each active message, and the address.
//
// A small message is one `eager`. A large one is an `offer`; its receiver, once the receive is
// posted, answers `accept` with a ticket of its own, and the bytes come as `data` with that ticket;
// or it answers `refuse`, because the exchange is closed or the two do not fit, and the send ends. A sender that
// has closed the exchange meanwhile answers `accept` with `withdrawn`.
// A sender that is a window ahead of what its receiver has asked for offers small messages too, so that
// the receiver need not keep them; `credit` tells it how far the receiver has come.
//
// Integers are in the host's order: the sums that travel inside are bound to one byte order anyway, and
// connect() refuses the other (kAddressMagic).
#pragma once

#include <cstdint>
#include <type_traits>

namespace pace::transports::wire {

// Active message id, one for all kinds.
inline constexpr unsigned kActiveMessage = 1;

enum class Kind : uint32_t {
    hello = 1,  // opens the connection, so that its end is noticed
    eager,      // a whole message; the payload has `size` bytes
    offer,      // a message of `size` bytes waits under the sender's `ticket`
    accept,     // answer to `ticket`: send the bytes to ticket `argument`
    refuse,     // answer to `ticket`: the bytes are not wanted
    data,       // bytes from offset `argument` on, for the receiver's `ticket`
    credit,     // the receiver is done with `argument` of the sender's eager bytes in all
    ping,       // answer me
    pong,       // answer to a ping
    withdrawn,  // answer to `accept` with ticket `argument`: the message is none any more
};

// What an eager message counts for in the window of its receiver, beyond its bytes.
inline constexpr uint64_t kEagerCharge = 128;

struct Header {
    Kind kind = Kind::hello;
    uint32_t slot = 0;
    uint32_t check = 0;
    uint32_t reserved = 0;
    uint64_t instance = 0;  // of the sender
    uint64_t exchange = 0;
    uint64_t size = 0;
    uint64_t ticket = 0;
    uint64_t argument = 0;
};
static_assert(sizeof(Header) == 56 && std::is_trivially_copyable_v<Header>);

// "PaceUCX" and the version of this file.
inline constexpr uint64_t kAddressMagic = 0x5061'6365'5543'5802U;

// Before UCX's own worker address.
struct AddressHeader {
    uint64_t magic = kAddressMagic;
    uint64_t instance = 0;
    uint64_t digest = 0;        // of the worker address: UCX does not check what it parses
    uint64_t eager_window = 0;  // how far ahead of this instance a sender of eager messages may be
    uint32_t segment_bytes = 0;
    uint32_t worker_bytes = 0;
};
static_assert(sizeof(AddressHeader) == 40 && std::is_trivially_copyable_v<AddressHeader>);

}  // namespace pace::transports::wire
