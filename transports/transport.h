// Transport: tagged messages between peers, with failures as ordinary results.
//
// A transport instance belongs to one thread (one event loop). Operations never block: they
// complete later, exactly once, from progress() — never from inside the call that started them. A
// completion may start and cancel other operations.
//
// Matching. A message carries a Tag; it matches the receive that was posted for the same peer with
// equal `exchange` and `slot`. If `check` differs, the receive ends with ErrorKind::mismatch: two
// nodes disagree about what they are doing. If the sizes differ, likewise. Messages that arrive
// before their receive is posted are kept, up to a bound; large ones stay at the sender until they
// are matched. At most one message with a given (peer, exchange, slot) may be under way; a second
// receive for it ends with ErrorKind::invalid, and a peer that sends a second message for it is lost.
//
// Closing. close_exchange() ends the exchange's unmatched receives with ErrorKind::canceled, and its
// sends of large messages that the peer has not asked for yet; it drops whatever arrives for it later.
// A peer that asks for such a message afterwards is told that there is none: ErrorKind::aborted. A receive whose data is already arriving ends when the data,
// or its peer, does; its memory must stay valid until then, which is why everyone awaits all that
// they have posted.
//
// The end. end() ends all that is under way with ErrorKind::canceled, from inside the call; so does
// the destructor. Call it while all that its completions refer to still lives. Afterwards the
// transport may still be used, by whoever has not heard yet: every operation ends so, and
// connect() with ErrorKind::closed.
//
// Peers. A peer is one instance of a transport in another process: a restarted process is another
// peer. A lost peer ends all operations with it with ErrorKind::unavailable, then the lost handler
// is called once. Whether a silent peer can be reached still is asked by ping(): its transport answers by itself, and heard()
// tells when the last byte of it came.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/event_loop.h"
#include "base/result.h"

namespace pace::transports {

// Names a peer in one transport instance; is never given to another one while the instance lives.
using PeerId = uint32_t;

struct Tag {
    uint64_t exchange = 0;  // unguessable outside the job: derived from its token
    uint32_t slot = 0;      // which message of the exchange
    uint32_t check = 0;     // digest of what sender and receiver believe the exchange is
};

// An instance's address: opaque bytes to hand to others, at most kAddressBytesMax.
using Address = std::vector<std::byte>;
inline constexpr size_t kAddressBytesMax = 4096;

using Completion = std::function<void(base::Result<>)>;
using PeerLostHandler = std::function<void(PeerId, const base::Error&)>;

// A Poller, so that an event loop drives it: poll() is progress().
class Transport : public base::Poller {
  public:
    // Short lower-case name for logs and status: "memory", "ucx".
    virtual std::string_view name() const = 0;

    virtual const Address& address() const = 0;

    // Makes the instance behind `address` a peer; the same address again gives the same peer. The
    // connection itself is made at the first send or receive; a peer that cannot be reached is lost
    // then.
    virtual base::Result<PeerId> connect(std::span<const std::byte> address) = 0;

    // Ends all operations with the peer with ErrorKind::unavailable (later, from progress) and
    // drops whatever arrives from it from now on. The lost handler is not called. connect() with
    // the same address makes a new peer. The other side is not told: it disconnects for its own
    // reasons, or loses this instance when it ends.
    virtual void disconnect(PeerId peer) = 0;

    // The same, and the peer is lost: the lost handler is called, later. When this returns, no memory of an
    // operation with the peer is in use. Blocks until UCX lets go of it, where it has some.
    virtual void give_up(PeerId peer, const base::Error& error) = 0;

    // Sends `bytes`, which must stay valid and unchanged until the completion. An end without error
    // says that the memory may be reused, not that the peer has received. Zero bytes are allowed.
    virtual void send(PeerId peer, Tag tag, std::span<const std::byte> bytes,
                      Completion completion) = 0;

    // Receives exactly bytes.size() bytes into `bytes`.
    virtual void receive(PeerId peer, Tag tag, std::span<std::byte> bytes,
                         Completion completion) = 0;

    virtual void close_exchange(uint64_t exchange) = 0;

    // A second call does nothing.
    virtual void end() = 0;

    // Asks the peer's transport for a sign of life; opens the connection if need be. Nothing completes: heard() tells.
    virtual void ping(PeerId peer) = 0;

    // When something came from the peer last, of whatever kind; the clock's epoch if nothing has.
    virtual base::TimePoint heard(PeerId peer) const = 0;

    // Called from progress() when the transport notices that a peer is gone.
    virtual void set_peer_lost_handler(PeerLostHandler handler) = 0;

    // A descriptor that becomes readable when poll() has work, once armed; -1 if there is none to
    // watch.
    virtual int event_fd() const = 0;

    // Bytes sent and received since the start, headers excluded.
    struct Counters {
        uint64_t messages_sent = 0;
        uint64_t messages_received = 0;
        uint64_t bytes_sent = 0;
        uint64_t bytes_received = 0;
        uint64_t messages_unexpected = 0;  // kept now: nobody has asked for them yet
    };
    virtual Counters counters() const = 0;
};

}  // namespace pace::transports
