// UcxOutbox: the messages that this instance sends: small messages, offers with their bytes, and
// answers.
//
// Over TCP, an active message is handed to UCX only if UCX takes it at once. UCX writes to the
// socket and copies what the socket does not take, at most one segment. A message that UCX does not
// take waits here, in a line for each peer, and resume() tries it again. UCX therefore never holds
// memory of the user, and an operation can end at any moment. UCX also has no reason to begin its
// own handshake between endpoints. The unfinished state of that handshake aborts the process in UCX
// 1.13 (an assertion in ucp_request_send_state_ff that Debian's build keeps). Other UCX transports
// have no such way for large messages. With them UCX holds the memory until its request ends.
//
// Nothing is handed to UCX from inside its callback for arrived messages (Arrival). In that
// callback UCX may make an endpoint from the very connection whose bytes it is handing out. UCX may
// also find that another connection is broken for which it has noted an event already. UCX 1.13
// then touches freed memory or aborts the process.
#pragma once

#include <ucp/api/ucp.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "transports/completion_queue.h"
#include "transports/transport.h"
#include "transports/ucx/ucx_options.h"
#include "transports/ucx/ucx_peers.h"
#include "transports/ucx/wire.h"

namespace pace::transports {

class UcxOutbox {
  public:
    UcxOutbox(UcxPeers& peers, CompletionQueue& completions, Transport::Counters& counters,
              const UcxOptions& options, uint64_t instance);
    UcxOutbox(const UcxOutbox&) = delete;
    UcxOutbox& operator=(const UcxOutbox&) = delete;

    // UCX is handing out arrived messages while an Arrival exists. Messages to be sent meanwhile
    // wait for send_held().
    class Arrival {
      public:
        explicit Arrival(UcxOutbox& outbox) : outbox_(outbox) { outbox_.in_arrival_ = true; }
        ~Arrival() { outbox_.in_arrival_ = false; }
        Arrival(const Arrival&) = delete;
        Arrival& operator=(const Arrival&) = delete;

      private:
        UcxOutbox& outbox_;
    };
    void send_held();

    // send(), hello(), ping() and accept() need a peer that exists and is not gone.
    void send(PeerId peer, const Tag& tag, std::span<const std::byte> bytes, Completion completion);
    void hello(PeerId peer);
    // ping() does nothing if other messages wait to be sent: the peer's host acknowledges those
    // messages or it does not.
    void ping(PeerId peer);
    void accept(PeerId peer, uint64_t offer_ticket, uint64_t receive_ticket);

    // Refuses an offer. The instance of the link may be no peer any more. The answer to such an
    // instance is tried once.
    void refuse(UcxPeers::Link& link, uint64_t offer_ticket);

    // Tells the instance how many of its eager bytes are taken.
    void credit(UcxPeers::Link& link);

    // Answers a ping.
    void pong(UcxPeers::Link& link);

    // Ends the sends of the exchange that are offered and that nobody has asked for.
    void close_exchange(uint64_t exchange);

    // Handle answers that arrived. Tickets come from outside. A ticket that does not fit the peer
    // is ignored.
    void on_accept(PeerId peer, uint64_t ticket_untrusted, uint64_t receive_ticket);
    void on_refuse(PeerId peer, uint64_t ticket_untrusted);

    // Ends the sends to the peer with `error`, at once or when UCX lets go of their memory.
    void end_peer(PeerId peer, const base::Error& error);

    // Whether a send to the peer has not ended.
    bool sends_to(PeerId peer) const;

    // Goes on with messages that UCX did not take and with sends that gave way to others. Returns
    // true if anything moved.
    bool resume();

    // Whether resume() has work that no descriptor will tell.
    bool has_work() const { return !yielded_.empty() || !held_.empty(); }

    // Whether UCX may hold memory of the user. If so, the endpoint must be closed to end an
    // operation.
    bool lends_memory() const { return !immediate_; }

    // Whether UCX holds none of our active messages.
    bool idle() const { return posted_ == 0; }

    // Call this method after the UCX worker is destroyed. It ends the sends that UCX never gave
    // back.
    void abandon(const base::Error& error);

  private:
    // The number of segments of one send in a row, and also the number under way at once. A guess:
    // the number is enough to keep a wire busy.
    static constexpr unsigned kWindow = 4;

    struct Send {
        PeerId peer = 0;
        Tag tag;
        std::span<const std::byte> bytes;
        Completion completion;
        uint64_t receive_ticket = 0;
        size_t next_offset = 0;
        // The number of active messages that wait here or that UCX holds.
        unsigned posted = 0;
        bool accepted = false;  // bytes may go out
        bool refused = false;
        bool yielded = false;
        std::optional<base::Error> error;
    };

    // One active message that UCX did not take. `bytes` point into the Send's bytes.
    struct Waiting {
        wire::Header header;
        std::span<const std::byte> bytes;
        uint64_t ticket = 0;  // of a Send, or 0
    };

    // The messages that wait for one peer. The oldest message is first.
    struct Line {
        std::deque<Waiting> messages;
        // When UCX took the last message before these messages, or when the first of these came.
        base::TimePoint moved{};
    };

    // A message that was to be sent during an Arrival. Without a peer, the message is an answer to
    // the instance.
    struct Held {
        uint64_t instance = 0;
        std::optional<PeerId> peer;
        Waiting message;
    };

    // One active message that UCX holds. The header must stay where it is until UCX has sent it.
    struct Post {
        wire::Header header;
        UcxOutbox* outbox = nullptr;
        uint64_t ticket = 0;  // of a Send, or 0
        uint64_t instance = 0;
    };

    enum class Posting { ended, pending, refused, failed };

    wire::Header make_header(wire::Kind kind) const;
    Posting post(PeerId peer, const wire::Header& header, std::span<const std::byte> bytes,
                 uint64_t ticket);
    void answer(UcxPeers::Link& link, const wire::Header& header);
    bool holds() const { return in_arrival_ || !held_.empty(); }
    void send_held(const Held& held);
    Posting post_now(UcxPeers::Link& link, const wire::Header& header,
                     std::span<const std::byte> bytes, uint64_t ticket);
    bool retry(PeerId peer);
    void lose_unmoved();
    static void on_posted(void* request, ucs_status_t status, void* post);
    void end_post(Post* post, ucs_status_t status);
    std::unique_ptr<Post> take_post();
    void give_post(std::unique_ptr<Post> post);
    void forget_waiting(PeerId peer, uint64_t ticket);
    void go_on(uint64_t ticket, Send& send);
    void finish(uint64_t ticket, Send& send);

    UcxPeers& peers_;
    CompletionQueue& completions_;
    Transport::Counters& counters_;
    size_t eager_bytes_max_;
    size_t segment_bytes_;
    base::Duration unmoved_max_;
    bool immediate_;
    uint64_t instance_;
    uint64_t next_ticket_ = 1;
    std::unordered_map<uint64_t, Send> sends_;
    std::vector<uint64_t> yielded_;
    // The lines of the peers that have messages waiting.
    std::unordered_map<PeerId, Line> waiting_;
    // When the outbox last looked whether the lines move.
    base::TimePoint looked_{};
    bool in_arrival_ = false;
    std::vector<Held> held_;
    // The messages that send_held() is sending. The vector swaps its memory with held_.
    std::vector<Held> sending_;
    // The number of active messages that UCX holds.
    size_t posted_ = 0;
    std::vector<std::unique_ptr<Post>> spare_posts_;
};

}  // namespace pace::transports
