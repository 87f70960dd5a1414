// TlsOutbox: the messages that this instance sends: small messages, offers with their bytes, and
// answers.
//
// An operation can end at any moment: no memory of the user is in use outside of write(). Small
// messages are copied. The rest of a segment that is being written is copied if its operation ends.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>

#include "transports/completion_queue.h"
#include "transports/tls/links/tls_link.h"
#include "transports/tls/links/tls_links.h"
#include "transports/tls/wire/tls_options.h"
#include "transports/transport.h"

namespace pace::transports::tls {

class TlsOutbox {
  public:
    TlsOutbox(TlsLinks& links, CompletionQueue& completions, Transport::Counters& counters,
              const TlsOptions& options);
    TlsOutbox(const TlsOutbox&) = delete;
    TlsOutbox& operator=(const TlsOutbox&) = delete;

    // send() and ping() need a peer that exists and is not gone.
    void send(PeerId peer, const Tag& tag, std::span<const std::byte> bytes, Completion completion);
    // ping() does nothing if other frames wait to be sent: the peer's host acknowledges those
    // frames or it does not.
    void ping(PeerId peer);

    // Answers. The link may have no peer any more.
    void accept(TlsLink& link, uint64_t offer_ticket, uint64_t receive_ticket);
    void refuse(TlsLink& link, uint64_t offer_ticket);
    void pong(TlsLink& link);
    // Tells the instance how many of its eager bytes are taken.
    void credit(TlsLink& link);

    // Ends the sends of the exchange that are offered and that nobody has asked for.
    void close_exchange(uint64_t exchange);

    // Handle answers that arrived. Tickets come from outside. A ticket that does not fit the peer
    // is ignored.
    void on_accept(TlsLink& link, uint64_t ticket_untrusted, uint64_t receive_ticket);
    void on_refuse(TlsLink& link, uint64_t ticket_untrusted);

    // Ends the sends to the peer with `error`. `goes_on`: the link stays, so what is being written
    // is written to its end.
    void end_peer(PeerId peer, const base::Error& error, bool goes_on);

    // Whether there is something to write.
    static bool has_work(const TlsLink& link);

    // Writes about `bytes_max` bytes. The way out must be open. Returns true if bytes moved.
    bool write(TlsLink& link, size_t bytes_max);

  private:
    struct Send {
        PeerId peer = 0;
        Tag tag;
        std::span<const std::byte> bytes;
        Completion completion;
        uint64_t receive_ticket = 0;
        size_t next_offset = 0;  // of the next segment
        bool eager = false;
        bool asked = false;  // bytes may go out
    };

    void answer(TlsLink& link, const Frame& frame);
    void line_up(TlsLink& link, const Frame& frame, uint64_t ticket);
    bool refill(TlsLink& link);
    bool begin_segment(TlsLink& link);
    void segment_written(TlsLink& link, uint64_t ticket);
    void renew_key(TlsLink& link, size_t bytes);
    void finish(uint64_t ticket);

    TlsLinks& links_;
    CompletionQueue& completions_;
    Transport::Counters& counters_;
    size_t eager_bytes_max_;
    size_t segment_bytes_;
    size_t answers_bytes_max_;
    uint64_t bytes_of_one_key_max_;
    uint64_t next_ticket_ = 1;
    std::unordered_map<uint64_t, Send> sends_;
};

}  // namespace pace::transports::tls
