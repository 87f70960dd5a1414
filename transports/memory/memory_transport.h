// MemoryTransport: one endpoint of a MemoryNetwork. MemoryNetwork::create() makes the endpoint.
#pragma once

#include <limits>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "transports/completion_queue.h"
#include "transports/match_table.h"
#include "transports/memory/memory_network.h"
#include "transports/receive.h"
#include "transports/recent_ids.h"
#include "transports/transport.h"

namespace pace::transports {

class MemoryTransport final : public Transport {
  public:
    // Its peers lose this endpoint. All outstanding operations end with ErrorKind::canceled.
    ~MemoryTransport() override;
    MemoryTransport(const MemoryTransport&) = delete;
    MemoryTransport& operator=(const MemoryTransport&) = delete;

    std::string_view name() const override { return "memory"; }
    const Address& address() const override { return address_; }
    EndpointId id() const { return id_; }
    base::Result<PeerId> connect(std::span<const std::byte> address) override;
    void disconnect(PeerId peer) override;
    void give_up(PeerId peer, const base::Error& error) override;
    void send(PeerId peer, Tag tag, std::span<const std::byte> bytes,
              Completion completion) override;
    void receive(PeerId peer, Tag tag, std::span<std::byte> bytes, Completion completion) override;
    void close_exchange(uint64_t exchange) override;
    void end() override;
    void ping(PeerId peer) override;
    base::TimePoint heard(PeerId peer) const override;
    void set_peer_lost_handler(PeerLostHandler handler) override;
    int event_fd() const override { return -1; }
    Counters counters() const override {
        Counters now = counters_;
        now.messages_unexpected = messages_.size();
        return now;
    }

    bool poll() override;
    bool arm() override;

  private:
    friend class MemoryNetwork;

    struct Peer {
        EndpointId endpoint = 0;
        bool doomed = false;  // vanished, to be told at the next poll()
        // Messages that were sent later are of the next connection.
        uint64_t doomed_at = std::numeric_limits<uint64_t>::max();
        bool gone = false;  // lost or disconnected
        base::TimePoint heard{};
        bool answered = false;  // a ping
        std::vector<std::shared_ptr<MemorySend>> sends;
    };

    // A matched large message. Its bytes come at the next poll() during which its sender runs.
    struct Arrival {
        Receive receive;
        std::shared_ptr<MemorySend> send;
    };

    MemoryTransport(MemoryNetwork& network, EndpointId id);

    Peer* usable_peer(PeerId peer, Completion& completion);
    void doom(EndpointId endpoint, uint64_t at = std::numeric_limits<uint64_t>::max());
    bool lose_doomed_peers();
    void lose(PeerId peer, const base::Error& error);
    void end_peer(PeerId peer, const base::Error& error);
    bool finish_arrivals();
    bool deliver();
    bool deliver_next(uint64_t sequence_end);
    void take_in(PeerId peer, MemoryMessage message);
    void say(PeerId peer, MemoryMessage::Kind kind);
    void match(Receive receive, MemoryMessage message);
    void complete_receive(Receive receive, std::span<const std::byte> bytes);
    static void end_send(const std::shared_ptr<MemorySend>& send, base::Result<> result);

    MemoryNetwork& network_;
    EndpointId id_;
    Address address_;
    std::vector<Peer> peers_;
    std::unordered_map<EndpointId, PeerId> connected_;
    // Messages of these endpoints are dropped if they were sent before this number.
    std::unordered_map<EndpointId, uint64_t> disconnected_;
    MatchTable<Receive> receives_;
    MatchTable<MemoryMessage> messages_;
    std::vector<Arrival> arrivals_;
    RecentIds closed_;
    CompletionQueue completions_;
    bool ended_ = false;
    PeerLostHandler lost_handler_;
    Counters counters_;
};

}  // namespace pace::transports
