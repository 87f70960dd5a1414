// Transport: tagged messages between peers, with failures as ordinary results.
//
// A transport instance belongs to one thread (one event loop). Operations never block. An operation
// completes later, exactly once, from progress(). An operation never completes inside the call that
// started it. A completion may start and cancel other operations.
//
// Matching. A message carries a Tag. The message matches the receive that was posted for the same
// peer with equal `exchange` and `slot`. If `check` differs, the receive ends with
// ErrorKind::mismatch: two nodes disagree about the exchange. If the sizes differ, the receive ends
// in the same way. A message that arrives before its receive is posted is kept, up to a bound. A
// large message stays at the sender until it is matched. At most one message with a given (peer,
// exchange, slot) may be under way. A second receive for the same key ends with ErrorKind::invalid.
// A peer that sends a second message for the same key is lost.
//
// Closing. close_exchange() ends the exchange's unmatched receives with ErrorKind::canceled. It
// also ends the exchange's sends of large messages that the peer has not asked for yet. Messages
// that arrive later for the exchange are dropped. If a peer asks later for a large message whose
// send has ended, the peer is told that the message was withdrawn: ErrorKind::aborted. A receive
// whose data is already arriving ends when the data has arrived or the peer is lost. The memory of
// that receive must stay valid until then. For this reason every user awaits all operations that it
// has posted.
//
// The end. end() ends all operations under way with ErrorKind::canceled, from inside the call. The
// destructor does the same. Call end() while all objects that the completions refer to still live.
// A user that has not heard of the end may still use the transport afterwards: every operation then
// ends with ErrorKind::canceled, and connect() fails with ErrorKind::closed.
//
// Peers. A peer is one instance of a transport in another process. A restarted process is another
// peer. When a peer is lost, all operations with the peer end with ErrorKind::unavailable. The lost
// handler is then called once. ping() asks whether a silent peer can still be reached. The peer's
// transport answers by itself, and heard() tells when the last byte came from a peer that can be
// reached.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/loop/event_loop.h"
#include "base/result.h"
#include "transports/pair_key.h"

namespace pace::transports {

// Names a peer in one transport instance. An id is never given to another peer while the instance
// lives.
using PeerId = uint32_t;

struct Tag {
    // Derived from the job's token, so that nobody outside the job can guess the exchange.
    uint64_t exchange = 0;
    // Which message of the exchange.
    uint32_t slot = 0;
    // A digest of what the sender or the receiver believes the exchange is.
    uint32_t check = 0;
};

// An instance's address: opaque bytes to hand to others, at most kAddressBytesMax.
using Address = std::vector<std::byte>;
inline constexpr size_t kAddressBytesMax = 4096;

using Completion = std::function<void(base::Result<>)>;
using PeerLostHandler = std::function<void(PeerId, const base::Error&)>;

// A transport is a Poller, so that an event loop drives it: poll() is progress().
class Transport : public base::Poller {
  public:
    // Returns a short lower-case name for logs and status: "memory", "ucx".
    virtual std::string_view name() const = 0;

    virtual const Address& address() const = 0;

    // Makes the instance behind `address` a peer. The same address again gives the same peer. The
    // connection is made at the first send or receive. A peer that cannot be reached is lost then.
    virtual base::Result<PeerId> connect(std::span<const std::byte> address) = 0;

    // The key of this instance and the instance behind `address`, for transports that authenticate
    // their peers. The newest key is used for new connections; the one before is still accepted,
    // because the two instances do not learn of a new key at the same time. Connections that exist
    // go on. The caller cleanses its own copy of the key. Fails if the transport cannot use the
    // address or the key. Other transports ignore keys.
    virtual base::Result<> add_key(std::span<const std::byte> /*address*/, const PairKey& /*key*/) {
        return {};
    }

    // Forgets the keys of the instance, and ends its connections: if it is a peer, the peer is
    // lost.
    virtual base::Result<> forget_keys(std::span<const std::byte> /*address*/) { return {}; }

    // Ends all operations with the peer with ErrorKind::unavailable. They end later, from
    // progress(). Drops everything that arrives from the peer from now on. The lost handler is not
    // called. A connect() with the same address makes a new peer. The other side is not told: it
    // disconnects for its own reasons, or loses this instance when this instance ends.
    virtual void disconnect(PeerId peer) = 0;

    // Like disconnect(), but the peer is lost: the lost handler is called later. When this method
    // returns, no memory of an operation with the peer is in use. If UCX holds such memory, the
    // method blocks until UCX lets go of it.
    virtual void give_up(PeerId peer, const base::Error& error) = 0;

    // Sends `bytes`, which must stay valid and unchanged until the completion. An end without error
    // means that the memory may be reused. It does not mean that the peer has received the message.
    // Zero bytes are allowed.
    virtual void send(PeerId peer, Tag tag, std::span<const std::byte> bytes,
                      Completion completion) = 0;

    // Receives exactly bytes.size() bytes into `bytes`.
    virtual void receive(PeerId peer, Tag tag, std::span<std::byte> bytes,
                         Completion completion) = 0;

    virtual void close_exchange(uint64_t exchange) = 0;

    // A second call does nothing.
    virtual void end() = 0;

    // Asks the peer's transport for a sign of life. Opens the connection if there is none. No
    // completion runs: heard() tells the answer.
    virtual void ping(PeerId peer) = 0;

    // Returns when the last message of any kind came from the peer. Returns the clock's epoch if
    // none has come, or if nothing shows yet that the peer can be reached from here. A peer may
    // reach this instance though this instance cannot reach the peer.
    virtual base::TimePoint heard(PeerId peer) const = 0;

    // The handler is called from progress() when the transport notices that a peer is gone.
    virtual void set_peer_lost_handler(PeerLostHandler handler) = 0;

    // Returns a descriptor that becomes readable when poll() has work, once the transport is armed.
    // Returns -1 if there is no descriptor to watch.
    virtual int event_fd() const = 0;

    // Messages and bytes sent and received since the start. Headers do not count.
    struct Counters {
        uint64_t messages_sent = 0;
        uint64_t messages_received = 0;
        uint64_t bytes_sent = 0;
        uint64_t bytes_received = 0;
        // The number of kept messages that nobody has asked for yet.
        uint64_t messages_unexpected = 0;
    };
    virtual Counters counters() const = 0;
};

}  // namespace pace::transports
