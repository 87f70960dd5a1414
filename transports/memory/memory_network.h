// MemoryNetwork: a deterministic network inside one process and one thread, for tests.
//
// The network holds the messages that are under way between its endpoints. Each endpoint is a
// MemoryTransport. Messages move only in an endpoint's poll(). Without a seed, messages arrive in
// the order in which they were sent. With a seed, each poll() delivers one message of a sender that
// the seed chooses. One seed therefore replays one interleaving.
//
// A small message is copied when it is sent. A large message stays in its sender's memory until it
// is matched, and arrives one poll() later. A peer can therefore vanish in the midst of a large
// message, as on a wire.
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

// A send of a large message. The sender and the message under way share it. `owner` is null once
// the send has ended. The memory of the send must not be touched from then on.
struct MemorySend {
    MemoryTransport* owner = nullptr;
    PeerId peer = 0;
    std::span<const std::byte> bytes;
    Completion completion;
    uint64_t exchange = 0;
    bool asked_for = false;  // the message has met its receive
};

struct MemoryMessage {
    Tag tag;
    uint64_t sequence = 0;
    std::vector<std::byte> copy;       // the bytes of a small message
    std::shared_ptr<MemorySend> send;  // the send of a large message
    size_t size = 0;
    base::TimePoint arrives{};
    enum class Kind { message, ping, pong } kind = Kind::message;
};

// MemoryWays: what lies between the endpoints of a network, in the time of a simulation.
class MemoryWays {
  public:
    virtual ~MemoryWays() = default;

    // When a message that is sent now arrives. Messages of one way keep their order.
    virtual base::TimePoint arrival(EndpointId from, EndpointId to, size_t bytes) = 0;
    // Whether a message that arrives then may be delivered now.
    virtual bool passes(EndpointId from, EndpointId to, base::TimePoint arrives) const = 0;
};

class MemoryNetwork {
  public:
    // Messages above this size stay at their sender until they are matched.
    static constexpr size_t kCopiedBytesMax = 4096;

    // Without `ways`, a message arrives at once. They must outlive the network.
    explicit MemoryNetwork(std::optional<uint64_t> seed = std::nullopt, MemoryWays* ways = nullptr);
    MemoryNetwork(const MemoryNetwork&) = delete;
    MemoryNetwork& operator=(const MemoryNetwork&) = delete;
    ~MemoryNetwork();

    // Makes a new endpoint. The network must outlive the endpoint.
    std::unique_ptr<MemoryTransport> create();

    // Makes the endpoint vanish now. Its messages that have not been delivered are gone. Its peers
    // lose it at their next poll(). The endpoint's own poll() does nothing any more. The endpoint's
    // own operations end when the endpoint is destroyed.
    void kill(const MemoryTransport& endpoint);

    // A frozen endpoint neither receives nor delivers until it is thawed. No other endpoint is
    // told.
    void freeze(const MemoryTransport& endpoint);
    void thaw(const MemoryTransport& endpoint);

    // The two endpoints lose each other at their next poll(), and what was under way between them
    // is gone. Both may connect again.
    void part(const MemoryTransport& one, const MemoryTransport& other);

    // When the next message arrives that is under way; none if there is none.
    std::optional<base::TimePoint> next_arrival() const;

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
    bool passes(EndpointId from, EndpointId to, base::TimePoint arrives) const {
        return runs(from) && (ways_ == nullptr || ways_->passes(from, to, arrives));
    }
    Endpoint* find(EndpointId id);
    void remove(EndpointId id);
    void post(EndpointId from, EndpointId to, MemoryMessage message);
    uint64_t next_sequence() const { return sequence_; }

    std::optional<base::Random> random_;
    MemoryWays* ways_;
    uint64_t sequence_ = 0;
    EndpointId next_id_ = 1;
    std::map<EndpointId, Endpoint> endpoints_;
};

}  // namespace pace::transports
