// TlsLink: what leads to another instance and what comes from it.
//
// Each of two instances opens a connection of its own for what it has to say. A link therefore has
// a way out and a way in. Two instances that connect to each other at the same time then disturb
// nothing: no connection has to yield to another. A link ends with either of its ways.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "transports/tls/session/tls_connection.h"
#include "transports/tls/wire/frame_writer.h"
#include "transports/tls/wire/frames.h"
#include "transports/tls/wire/readiness.h"
#include "transports/transport.h"

namespace pace::transports::tls {

// The connection that this instance opens.
struct WayOut {
    enum class State {
        closed,
        waits,        // for a key, or to try again
        connecting,   // TCP
        handshaking,  // TLS
        open,
    };
    State state = State::closed;
    std::vector<IpEndpoint> endpoints;
    std::unique_ptr<TlsConnection> connection;
    Readiness::Token token = 0;
    base::TimePoint began{};     // when the connection was first needed
    base::TimePoint deadline{};  // of the state
    size_t endpoint = 0;         // the index of the endpoint that is tried
    unsigned attempts = 0;       // handshakes that failed
    uint64_t key_bytes = 0;      // bytes since the connection has its key
};

// What is to be sent.
struct Output {
    FrameWriter writer;
    // Messages and offers that wait to be copied into the writer.
    struct Lined {
        Frame frame;
        uint64_t ticket = 0;
    };
    std::deque<Lined> line;
    // Large messages that were asked for, by ticket. Each gets one segment in its turn.
    std::deque<uint64_t> asked;
};

// The connection that the other instance has opened.
struct WayIn {
    std::unique_ptr<TlsConnection> connection;
    Readiness::Token token = 0;
    // The frame that is being read.
    FrameBytes header{};
    size_t header_bytes = 0;
    std::optional<Frame> frame;
    size_t payload_read = 0;
    bool wanted = false;             // the data of the frame
    std::vector<std::byte> payload;  // of an eager message
};

struct TlsLink {
    InstanceId instance{};
    std::optional<PeerId> peer;  // none after disconnect(), or before connect()
    // What comes before the first connect() is left in the connection. What comes between a
    // disconnect() and the next connect() is dropped.
    bool was_peer = false;
    std::optional<base::Error> error;  // set once: the link is to be closed
    bool touched = false;              // is in line for its turn

    WayOut out;
    WayIn in;
    Output output;

    // Eager bytes since the link began. Each message also counts kEagerCharge. This instance is
    // ahead of the other by eager_sent - eager_returned. The difference must not exceed the other's
    // window.
    uint64_t eager_window = 0;
    uint64_t eager_sent = 0;
    uint64_t eager_returned = 0;
    // The number of the other's eager bytes that this instance has taken.
    uint64_t eager_taken = 0;
    // The value of eager_taken that the other instance was told last.
    uint64_t eager_reported = 0;

    // The bytes of the peer's messages that nobody has asked for yet.
    size_t unexpected_bytes = 0;

    base::TimePoint heard{};  // when the last bytes came
};

}  // namespace pace::transports::tls
