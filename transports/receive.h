// Receive: a posted receive, and a check whether a message fits it.
#pragma once

#include <cstddef>
#include <span>

#include "transports/transport.h"

namespace pace::transports {

struct Receive {
    PeerId peer = 0;
    Tag tag;
    std::span<std::byte> bytes;
    Completion completion;
};

// Fails with ErrorKind::mismatch if the check or the size of the matched message differs from the
// receive's. The error names both values.
inline base::Result<> check_fits(const Receive& receive, const Tag& tag, size_t size) {
    if (receive.tag.check != tag.check) {
        return base::make_error(base::ErrorKind::mismatch,
                                "slot {} of exchange {:016x}: peer {} sent check {:08x}, this node "
                                "expects {:08x}; the two "
                                "nodes disagree about the exchange and must abort it",
                                tag.slot, tag.exchange, receive.peer, tag.check, receive.tag.check);
    }
    if (receive.bytes.size() != size) {
        return base::make_error(base::ErrorKind::mismatch,
                                "slot {} of exchange {:016x}: peer {} sent {} bytes, this node "
                                "expects {}; the two nodes "
                                "disagree about the exchange and must abort it",
                                tag.slot, tag.exchange, receive.peer, size, receive.bytes.size());
    }
    return {};
}

inline base::Error canceled_by_close(const Tag& tag) {
    return base::make_error(base::ErrorKind::canceled,
                            "exchange {:016x} was closed before slot {} had moved", tag.exchange,
                            tag.slot);
}

inline base::Error withdrawn(const Tag& tag, PeerId peer) {
    return base::make_error(base::ErrorKind::aborted,
                            "peer {} withdrew the message for slot {} of exchange {:016x}", peer,
                            tag.slot, tag.exchange);
}

inline base::Error already_posted(const Tag& tag, PeerId peer) {
    return base::make_error(
        base::ErrorKind::invalid,
        "a receive for slot {} of exchange {:016x} from peer {} is already posted; "
        "give each message of an exchange a slot of its own",
        tag.slot, tag.exchange, peer);
}

inline base::Error has_ended() {
    return base::make_error(base::ErrorKind::canceled, "the transport has ended");
}

inline base::Error unknown_peer(PeerId peer) {
    return base::make_error(base::ErrorKind::invalid,
                            "peer {} does not exist; use an id that connect() gave", peer);
}

}  // namespace pace::transports
