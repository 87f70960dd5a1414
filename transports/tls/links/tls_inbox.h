// TlsInbox: the messages that arrive. The inbox matches messages with receives and keeps the
// messages that nobody has asked for yet.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "transports/completion_queue.h"
#include "transports/match_table.h"
#include "transports/receive.h"
#include "transports/recent_ids.h"
#include "transports/tls/links/tls_links.h"
#include "transports/tls/links/tls_outbox.h"
#include "transports/tls/wire/tls_options.h"
#include "transports/transport.h"

namespace pace::transports::tls {

class TlsInbox {
  public:
    TlsInbox(TlsLinks& links, TlsOutbox& outbox, CompletionQueue& completions,
             Transport::Counters& counters, const TlsOptions& options);
    TlsInbox(const TlsInbox&) = delete;
    TlsInbox& operator=(const TlsInbox&) = delete;

    // The peer must exist and must not be gone.
    void receive(Receive receive);
    void close_exchange(uint64_t exchange);

    // The number of messages that nobody has asked for yet.
    size_t kept() const { return messages_.size(); }

    // Handles a frame other than data. `payload` has all of its bytes, and may be taken.
    void on_frame(TlsLink& link, const Frame& frame, std::vector<std::byte>& payload);

    // Handles the header of data. Returns false if nobody wants the data, because the receive has
    // ended. If the header does not fit, its peer fails.
    bool on_data(TlsLink& link, const Frame& frame);
    // The memory for wanted data of a frame whose first `read` bytes are there. Empty: nobody wants
    // the rest any more. The memory is valid until another operation begins.
    std::span<std::byte> room_for(const TlsLink& link, const Frame& frame, size_t read);
    // So many bytes of data are in the memory that room_for() gave.
    void took_data(const Frame& frame, size_t bytes);

    // Ends receives from the peer with `error` and drops the messages of the peer.
    void end_peer(PeerId peer, const base::Error& error);

  private:
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

    void take_in(TlsLink& link, Arrived message);
    void keep(TlsLink& link, Arrived message);
    void match(Receive receive, const Arrived& message);
    void end_withdrawn(const TlsLink& link, uint64_t ticket_untrusted);
    void complete(Receive receive);
    void drop(TlsLink& link, const Arrived& message);
    void took_eager(TlsLink& link, uint64_t bytes);
    void fail(TlsLink& link, std::string_view why);
    static size_t charge(size_t bytes) { return bytes + kEagerCharge; }

    TlsLinks& links_;
    TlsOutbox& outbox_;
    CompletionQueue& completions_;
    Transport::Counters& counters_;
    size_t unexpected_bytes_max_;
    MatchTable<Receive> receives_;
    MatchTable<Arrived> messages_;
    std::unordered_map<uint64_t, Arriving> arriving_;
    uint64_t next_ticket_ = 1;
    RecentIds closed_;
};

}  // namespace pace::transports::tls
