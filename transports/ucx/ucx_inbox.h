// UcxInbox: the messages that arrive. The inbox matches messages with receives and keeps the
// messages that nobody has asked for yet.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "transports/completion_queue.h"
#include "transports/match_table.h"
#include "transports/receive.h"
#include "transports/recent_ids.h"
#include "transports/transport.h"
#include "transports/ucx/strangers.h"
#include "transports/ucx/ucx_options.h"
#include "transports/ucx/ucx_outbox.h"
#include "transports/ucx/ucx_peers.h"
#include "transports/ucx/wire.h"

namespace pace::transports {

class UcxInbox {
  public:
    UcxInbox(UcxPeers& peers, UcxOutbox& outbox, CompletionQueue& completions,
             Transport::Counters& counters, const UcxOptions& options);
    UcxInbox(const UcxInbox&) = delete;
    UcxInbox& operator=(const UcxInbox&) = delete;

    // The peer must exist and must not be gone.
    void receive(Receive receive);
    void close_exchange(uint64_t exchange);

    // The number of messages that nobody has asked for yet.
    size_t kept() const { return messages_.size(); }

    // Handles one active message from UCX. The bytes belong to UCX and are valid during the call.
    // If there is no memory for the message, its peer is lost.
    void on_message(std::span<const std::byte> header_untrusted,
                    std::span<const std::byte> bytes_untrusted);

    // Takes in the messages that the peer's instance sent before it was connected.
    void on_connected(PeerId peer);

    // Ends receives from the peer with `error` and drops the messages of the peer.
    void end_peer(PeerId peer, const base::Error& error);

  private:
    void on_message(const wire::Header& header, std::span<const std::byte> bytes_untrusted);
    // A message that nobody has asked for yet. It has its bytes, or the ticket of its offer.
    struct Arrived {
        PeerId peer = 0;
        Tag tag;
        uint64_t size = 0;
        bool offered = false;
        uint64_t offer_ticket = 0;
        std::vector<std::byte> bytes;
    };

    // A large message whose bytes are on their way.
    struct Arriving {
        Receive receive;
        size_t received = 0;
    };

    void dispatch(PeerId peer, const wire::Header& header, std::span<const std::byte> bytes);
    void take_in(PeerId peer, const wire::Header& header, std::span<const std::byte> bytes);
    void keep(const MatchKey& key, const wire::Header& header, std::span<const std::byte> bytes);
    void match(Receive receive, const Arrived& message, std::span<const std::byte> bytes);
    void take_data(PeerId peer, const wire::Header& header, std::span<const std::byte> bytes);
    void end_withdrawn(PeerId peer, uint64_t ticket_untrusted);
    void complete(Receive receive);
    void drop(const Arrived& message);
    void took_eager(UcxPeers::Link& link, size_t bytes);
    void fail(PeerId peer, std::string_view why);
    static size_t charge(size_t bytes) { return bytes + wire::kEagerCharge; }

    UcxPeers& peers_;
    UcxOutbox& outbox_;
    CompletionQueue& completions_;
    Transport::Counters& counters_;
    size_t unexpected_bytes_max_;
    MatchTable<Receive> receives_;
    MatchTable<Arrived> messages_;
    std::unordered_map<uint64_t, Arriving> arriving_;
    uint64_t next_ticket_ = 1;
    RecentIds closed_;
    Strangers strangers_;
};

}  // namespace pace::transports
