// The messages between UcxTransports: one header before each active message, and the address.
//
// A small message is one `eager`. A large message begins with an `offer`. Once its receive is
// posted, the receiver answers `accept` with a ticket of its own. The bytes then come as `data`
// with that ticket. The receiver may answer `refuse` instead, because the exchange is closed or the
// two sides do not fit. The send then ends. A sender that has closed the exchange meanwhile answers
// the `accept` with `withdrawn`. A sender may be a window ahead of the messages that its receiver
// has asked for. Such a sender offers small messages too, so that the receiver need not keep them.
// A `credit` tells the sender how far the receiver has come.
//
// Integers are in the host's byte order: the sums that travel in messages are bound to one byte
// order anyway. connect() refuses the other byte order (kAddressMagic).
#pragma once

#include <cstdint>
#include <type_traits>

namespace pace::transports::wire {

// The active message id, which is the same for all kinds.
inline constexpr unsigned kActiveMessage = 1;

enum class Kind : uint32_t {
    hello = 1,  // opens the connection, so that its end is noticed
    eager,      // a whole message; the payload has `size` bytes
    offer,      // a message of `size` bytes waits under the sender's `ticket`
    accept,     // answers the offer `ticket`: send the bytes to ticket `argument`
    refuse,     // answers the offer `ticket`: the bytes are not wanted
    data,       // bytes from offset `argument` on, for the receiver's `ticket`
    credit,     // the receiver has taken `argument` of the sender's eager bytes in all
    ping,       // asks for a pong
    pong,       // answers a ping
    withdrawn,  // answers `accept` with ticket `argument`: the message is withdrawn
};

// Whether a message of this kind shows that the other instance has had a message of this one.
constexpr bool is_answer(Kind kind) {
    switch (kind) {
        case Kind::hello:
        case Kind::eager:
        case Kind::offer:
        case Kind::ping:
            return false;
        case Kind::accept:
        case Kind::refuse:
        case Kind::data:
        case Kind::credit:
        case Kind::pong:
        case Kind::withdrawn:
            return true;
    }
    return false;
}

// The number of bytes that an eager message counts for in the window of its receiver, beyond its
// own bytes.
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

// The header that stands before UCX's own worker address.
struct AddressHeader {
    uint64_t magic = kAddressMagic;
    uint64_t instance = 0;
    // The digest of the worker address. UCX does not check the address that it parses.
    uint64_t digest = 0;
    // How far ahead of this instance a sender of eager messages may be, in bytes.
    uint64_t eager_window = 0;
    uint32_t segment_bytes = 0;
    uint32_t worker_bytes = 0;
};
static_assert(sizeof(AddressHeader) == 40 && std::is_trivially_copyable_v<AddressHeader>);

}  // namespace pace::transports::wire
