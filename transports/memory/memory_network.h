// MemoryNetwork: a deterministic network inside one process and one thread, for tests.
//
// The network holds what is under way between its endpoints, each a MemoryTransport. Nothing moves
// but from an endpoint's poll(). Without a seed, messages arrive in the order in which they were
// sent. With a seed, each poll() delivers one message, of a sender that the seed chooses, so that
// one seed replays one interleaving.
//
// A small message is copied when it is sent. A large one stays in its sender's memory until it is
// matched, and arrives one poll() later, so that a peer can vanish in the midst of it, as on a
// wire.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/random.h"
#include "transports/transport.h"

namespace pace::transports {

class MemoryTransport;

using EndpointId = uint64_t;

// A send of a large message, shared by its sender and the message under way. `owner` is null once
// the send has ended: its memory must not be touched from then on.
struct MemorySend {
    MemoryTransport* owner = nullptr;
    PeerId peer = 0;
    std::span<const std::byte> bytes;
    Completion completion;
    uint64_t exchange = 0;
    bool asked_for = false;  // it has met its receive
};

struct MemoryMessage {
    Tag tag;
    uint64_t sequence = 0;
    std::vector<std::byte> copy;       // of a small message
    std::shared_ptr<MemorySend> send;  // of a large one
    size_t size = 0;
    enum class Kind { message, ping, pong } kind = Kind::message;
};

class MemoryNetwork {
  public:
    // Messages above this size stay at their sender until matched.
    static constexpr size_t kCopiedBytesMax = 4096;

    explicit MemoryNetwork(std::optional<uint64_t> seed = std::nullopt);
    MemoryNetwork(const MemoryNetwork&) = delete;
    MemoryNetwork& operator=(const MemoryNetwork&) = delete;
    ~MemoryNetwork();

    // A new endpoint. The network must outlive it.
    std::unique_ptr<MemoryTransport> create();

    // The endpoint vanishes now: what it sent and has not been delivered is gone, its peers lose it
    // at their next poll(), and its own poll() does nothing any more. Its own operations end when
    // it is destroyed.
    void kill(const MemoryTransport& endpoint);

    // A frozen endpoint neither receives nor delivers until it is thawed; nobody is told.
    void freeze(const MemoryTransport& endpoint);
    void thaw(const MemoryTransport& endpoint);

    // Polls every endpoint once, with a seed in an order that the seed chooses. True if any had
    // work. A test that turns this until it is false has delivered all that can be delivered.
    bool progress();

  private:
    friend class MemoryTransport;

    struct Endpoint {
        MemoryTransport* transport = nullptr;
        bool alive = true;
        bool frozen = false;
        std::map<EndpointId, std::deque<MemoryMessage>> inbox;  // by sender
    };

    bool alive(EndpointId id) const;
    bool runs(EndpointId id) const;
    Endpoint* find(EndpointId id);
    void remove(EndpointId id);
    void post(EndpointId from, EndpointId to, MemoryMessage message);
    uint64_t next_sequence() const { return sequence_; }

    std::optional<base::Random> random_;
    uint64_t sequence_ = 0;
    EndpointId next_id_ = 1;
    std::map<EndpointId, Endpoint> endpoints_;
};

}  // namespace pace::transports
