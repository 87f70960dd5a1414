// Frames: what crosses a connection. Each frame is a header of kFrameBytes and its payload.
//
// The first frame is the `hello` of the side that opened the connection. Only this side sends
// frames: each of two peers opens a connection of its own for what it has to say.
//
// A small message is one `eager`. A large message begins with an `offer`. Once its receive is
// posted, the receiver answers `accept` with a ticket of its own. The bytes then come as `data`
// with that ticket, segment after segment. The receiver may answer `refuse` instead, because the
// exchange is closed or the two sides do not fit. The send then ends. A sender that has closed the
// exchange meanwhile answers the `accept` with `withdrawn`. A sender may be a window ahead of the
// messages that its receiver has asked for. Such a sender offers small messages too, so that the
// receiver need not keep them. A `credit` tells the sender how far the receiver has come.
//
// This file is pure: it knows no connection.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.h"
#include "transports/tls/wire/tls_address.h"

namespace pace::transports::tls {

enum class FrameKind : uint32_t {
    hello = 1,  // opens the connection; the payload is a Hello
    eager,      // a whole message; the payload has `size` bytes
    offer,      // a message of `size` bytes waits under the sender's `ticket`
    accept,     // answers the offer `ticket`: send the bytes to ticket `argument`
    refuse,     // answers the offer `ticket`: the bytes are not wanted
    data,       // `size` bytes from offset `argument` on, for the receiver's `ticket`
    credit,     // the receiver has taken `argument` of the sender's eager bytes in all
    ping,       // asks for a pong
    pong,       // answers a ping
    withdrawn,  // answers `accept` with ticket `argument`: the message is withdrawn
};

// The number of bytes that an eager message counts for in the window of its receiver, beyond its
// own bytes.
inline constexpr uint64_t kEagerCharge = 128;

struct Frame {
    FrameKind kind = FrameKind::ping;
    uint32_t slot = 0;
    uint32_t check = 0;
    uint64_t exchange = 0;
    uint64_t size = 0;
    uint64_t ticket = 0;
    uint64_t argument = 0;
    bool operator==(const Frame&) const = default;
};

inline constexpr size_t kFrameBytes = 48;
using FrameBytes = std::array<std::byte, kFrameBytes>;

FrameBytes encode_frame(const Frame& frame);

// Fails with ErrorKind::corrupt if a peer of this version never sends such a frame.
base::Result<Frame> decode_frame(std::span<const std::byte, kFrameBytes> bytes_untrusted,
                                 size_t segment_bytes);

// The number of bytes that follow the header.
size_t payload_bytes(const Frame& frame);

// What the side that opens a connection says about it.
struct Hello {
    InstanceId from{};
    InstanceId to{};
    // Counts the connections that `from` has opened. Of two connections of one instance the one
    // with the larger number is in use, and the other is left over.
    uint64_t number = 0;
    bool operator==(const Hello&) const = default;
};

inline constexpr size_t kHelloBytes = 40;

// The frame and its payload.
std::array<std::byte, kFrameBytes + kHelloBytes> encode_hello(const Hello& hello);
Hello decode_hello(std::span<const std::byte, kHelloBytes> bytes);

}  // namespace pace::transports::tls
