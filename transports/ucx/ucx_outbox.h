// UcxOutbox: what this instance sends. Small messages, offers and their bytes, answers.
//
// Over TCP, each active message is handed to UCX only if UCX takes it at once: it writes to the socket and copies what
// the socket does not take, at most one segment. What UCX does not take waits here, per peer, and is tried
// again by resume(). So UCX never holds memory of the user, and an operation can end at any moment; and UCX has
// no reason to begin its own handshake between endpoints, whose unfinished state aborts the process in 1.13
// (an assertion in ucp_request_send_state_ff that Debian's build keeps). Other UCX transports have no such way for
// large messages: there UCX holds the memory until its request ends.
//
// Nothing is handed to UCX from inside its callback for what has come (Arrival). It may make an endpoint of the very
// connection whose bytes it is handing out, or find that another one is broken of which it has noted an event already;
// 1.13 then touches freed memory, or aborts the process.
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

    // UCX hands out what has come: what is sent as long as this lives waits for send_held().
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

    // The peer exists and is not gone, for these.
    void send(PeerId peer, const Tag& tag, std::span<const std::byte> bytes, Completion completion);
    void hello(PeerId peer);
    // Nothing if others wait to be sent: these are answered by the peer's host, or not.
    void ping(PeerId peer);
    void accept(PeerId peer, uint64_t offer_ticket, uint64_t receive_ticket);

    // To an instance that may be a peer no more. Tried once for those.
    void refuse(UcxPeers::Link& link, uint64_t offer_ticket);

    // Tells the instance how much of what it sent is taken.
    void credit(UcxPeers::Link& link);

    // Answers a ping.
    void pong(UcxPeers::Link& link);

    // Ends the exchange's sends that are offered and that nobody has asked for.
    void close_exchange(uint64_t exchange);

    // Answers that arrived. Tickets come from outside: those that do not fit the peer are ignored.
    void on_accept(PeerId peer, uint64_t ticket_untrusted, uint64_t receive_ticket);
    void on_refuse(PeerId peer, uint64_t ticket_untrusted);

    // Sends to the peer end with `error`: at once, or when UCX lets go of their memory.
    void end_peer(PeerId peer, const base::Error& error);

    // Whether a send to the peer has not ended.
    bool sends_to(PeerId peer) const;

    // Goes on with what UCX did not take, and with sends that gave way to others. True if anything moved.
    bool resume();

    // Whether resume() has work that no descriptor will tell.
    bool has_work() const { return !yielded_.empty() || !held_.empty(); }

    // Whether UCX may hold memory of the user, so that ending an operation means closing the endpoint.
    bool lends_memory() const { return !immediate_; }

    // Nothing of ours is in UCX's hands.
    bool idle() const { return posted_ == 0; }

    // After the UCX worker is destroyed: ends what it never gave back.
    void abandon(const base::Error& error);

  private:
    // Segments of one send in a row, and under way at once. A guess: enough to keep a wire busy.
    static constexpr unsigned kWindow = 4;

    struct Send {
        PeerId peer = 0;
        Tag tag;
        std::span<const std::byte> bytes;
        Completion completion;
        uint64_t receive_ticket = 0;
        size_t next_offset = 0;
        unsigned posted = 0;    // active messages that wait here or in UCX's hands
        bool accepted = false;  // bytes may go out
        bool refused = false;
        bool yielded = false;
        std::optional<base::Error> error;
    };

    // One active message that UCX did not take. `bytes` are those of the Send.
    struct Waiting {
        wire::Header header;
        std::span<const std::byte> bytes;
        uint64_t ticket = 0;  // of a Send, or 0
    };

    // What waits for one peer, the first first.
    struct Line {
        std::deque<Waiting> messages;
        base::TimePoint
            moved{};  // when UCX took the last one before these, or the first of these came
    };

    // One that was to be sent during an Arrival; to an instance that is no peer: an answer.
    struct Held {
        uint64_t instance = 0;
        std::optional<PeerId> peer;
        Waiting message;
    };

    // One active message in UCX's hands: its header must stay where it is until UCX has sent it.
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
    std::unordered_map<PeerId, Line> waiting_;  // only peers with some
    base::TimePoint looked_{};                  // at whether they move
    bool in_arrival_ = false;
    std::vector<Held> held_;
    std::vector<Held> sending_;  // the memory of held_, in turn
    size_t posted_ = 0;          // in UCX's hands
    std::vector<std::unique_ptr<Post>> spare_posts_;
};

}  // namespace pace::transports
