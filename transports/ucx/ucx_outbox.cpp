#include "transports/ucx/ucx_outbox.h"

#include <algorithm>
#include <utility>

#include "transports/receive.h"

namespace pace::transports {

using base::ErrorKind;
using base::make_error;

UcxOutbox::UcxOutbox(UcxPeers& peers, CompletionQueue& completions, Transport::Counters& counters,
                     const UcxOptions& options, uint64_t instance)
    : peers_(peers),
      completions_(completions),
      counters_(counters),
      eager_bytes_max_(options.eager_bytes_max),
      segment_bytes_(options.segment_bytes),
      unmoved_max_(options.unmoved_max),
      immediate_(options.tls == "tcp"),
      instance_(instance) {}

void UcxOutbox::send(PeerId peer, const Tag& tag, std::span<const std::byte> bytes,
                     Completion completion) {
    UcxPeers::Link& link = peers_.link(peer);
    const uint64_t charge = bytes.size() + wire::kEagerCharge;
    const bool eager = bytes.size() <= eager_bytes_max_ &&
                       link.eager_sent - link.eager_returned + charge <= link.eager_window;
    if (eager) link.eager_sent += charge;
    const uint64_t ticket = next_ticket_++;
    wire::Header header = make_header(eager ? wire::Kind::eager : wire::Kind::offer);
    header.slot = tag.slot;
    header.check = tag.check;
    header.exchange = tag.exchange;
    header.size = bytes.size();
    header.ticket = ticket;
    Send send;
    send.peer = peer;
    send.tag = tag;
    send.bytes = bytes;
    send.completion = std::move(completion);
    if (eager) {
        send.accepted = true;
        send.next_offset = bytes.size();
    }
    switch (post(peer, header, eager ? bytes : std::span<const std::byte>{}, ticket)) {
        case Posting::failed:
            send.error = make_error(ErrorKind::unavailable, "peer {} cannot be reached", peer);
            finish(ticket, send);
            return;
        case Posting::ended:
            if (eager) {
                finish(ticket, send);
                return;
            }
            break;
        case Posting::pending:
        case Posting::refused:
            send.posted = 1;
            break;
    }
    sends_.emplace(ticket, std::move(send));
}

void UcxOutbox::hello(PeerId peer) {
    post(peer, make_header(wire::Kind::hello), {}, 0);
}

void UcxOutbox::ping(PeerId peer) {
    if (!waiting_.contains(peer)) post(peer, make_header(wire::Kind::ping), {}, 0);
}

void UcxOutbox::pong(UcxPeers::Link& link) {
    answer(link, make_header(wire::Kind::pong));
}

void UcxOutbox::accept(PeerId peer, uint64_t offer_ticket, uint64_t receive_ticket) {
    wire::Header header = make_header(wire::Kind::accept);
    header.ticket = offer_ticket;
    header.argument = receive_ticket;
    post(peer, header, {}, 0);
}

void UcxOutbox::refuse(UcxPeers::Link& link, uint64_t offer_ticket) {
    wire::Header header = make_header(wire::Kind::refuse);
    header.ticket = offer_ticket;
    answer(link, header);
}

void UcxOutbox::credit(UcxPeers::Link& link) {
    wire::Header header = make_header(wire::Kind::credit);
    header.argument = link.eager_taken;
    answer(link, header);
}

void UcxOutbox::answer(UcxPeers::Link& link, const wire::Header& header) {
    if (link.peer) {
        post(*link.peer, header, {}, 0);
    } else if (holds()) {
        held_.push_back({link.instance, std::nullopt, {header, {}, 0}});
    } else {
        post_now(link, header, {}, 0);
    }
}

void UcxOutbox::on_accept(PeerId peer, uint64_t ticket_untrusted, uint64_t receive_ticket) {
    const auto send = sends_.find(ticket_untrusted);
    if (send == sends_.end()) {
        wire::Header header = make_header(wire::Kind::withdrawn);
        header.argument = receive_ticket;
        post(peer, header, {}, 0);
        return;
    }
    if (send->second.peer != peer || send->second.accepted) return;
    send->second.accepted = true;
    send->second.receive_ticket = receive_ticket;
    go_on(send->first, send->second);
}

// An offer that waits to be sent, or that UCX holds, uses none of the user's memory.
void UcxOutbox::close_exchange(uint64_t exchange) {
    std::vector<uint64_t> unasked;
    for (const auto& [ticket, send] : sends_)
        if (send.tag.exchange == exchange && !send.accepted && !send.error)
            unasked.push_back(ticket);
    std::sort(unasked.begin(), unasked.end());
    for (const uint64_t ticket : unasked) {
        Send& send = sends_.at(ticket);
        forget_waiting(send.peer, ticket);
        completions_.push(std::move(send.completion), canceled_by_close(send.tag));
        sends_.erase(ticket);
    }
}

void UcxOutbox::on_refuse(PeerId peer, uint64_t ticket_untrusted) {
    const auto send = sends_.find(ticket_untrusted);
    if (send == sends_.end() || send->second.peer != peer || send->second.accepted) return;
    send->second.accepted = true;
    send->second.refused = true;
    go_on(send->first, send->second);
}

void UcxOutbox::end_peer(PeerId peer, const base::Error& error) {
    std::erase_if(held_, [this, peer](const Held& held) {
        if (held.peer != peer) return false;
        if (const auto send = sends_.find(held.message.ticket); send != sends_.end())
            --send->second.posted;
        return true;
    });
    if (const auto waiting = waiting_.find(peer); waiting != waiting_.end()) {
        for (const Waiting& message : waiting->second.messages) {
            if (const auto send = sends_.find(message.ticket); send != sends_.end())
                --send->second.posted;
        }
        waiting_.erase(waiting);
    }
    std::vector<uint64_t> tickets;
    for (const auto& [ticket, send] : sends_) {
        if (send.peer == peer) tickets.push_back(ticket);
    }
    std::sort(tickets.begin(), tickets.end());
    for (const uint64_t ticket : tickets) {
        Send& send = sends_.at(ticket);
        if (!send.error) send.error = error;
        go_on(ticket, send);
    }
}

bool UcxOutbox::sends_to(PeerId peer) const {
    return std::any_of(sends_.begin(), sends_.end(),
                       [peer](const auto& entry) { return entry.second.peer == peer; });
}

void UcxOutbox::abandon(const base::Error& error) {
    for (auto& [ticket, send] : sends_)
        completions_.push(std::move(send.completion), send.error ? *send.error : error);
    sends_.clear();
}

wire::Header UcxOutbox::make_header(wire::Kind kind) const {
    wire::Header header;
    header.kind = kind;
    header.instance = instance_;
    return header;
}

// Sends the message, or lets it wait behind the messages that wait for the peer already
// (Posting::refused).
UcxOutbox::Posting UcxOutbox::post(PeerId peer, const wire::Header& header,
                                   std::span<const std::byte> bytes, uint64_t ticket) {
    if (holds()) {
        held_.push_back({0, peer, {header, bytes, ticket}});
        return Posting::refused;
    }
    Posting posting = Posting::refused;
    if (!waiting_.contains(peer)) posting = post_now(peers_.link(peer), header, bytes, ticket);
    if (posting == Posting::refused) {
        Line& line = waiting_[peer];
        if (line.messages.empty()) line.moved = base::now();
        line.messages.push_back(Waiting{header, bytes, ticket});
    }
    return posting;
}

UcxOutbox::Posting UcxOutbox::post_now(UcxPeers::Link& link, const wire::Header& header,
                                       std::span<const std::byte> bytes, uint64_t ticket) {
    auto endpoint = peers_.endpoint(link);
    if (!endpoint) {
        peers_.fail(link, std::move(endpoint).error());
        return Posting::failed;
    }
    std::unique_ptr<Post> post = take_post();
    post->header = header;
    post->ticket = ticket;
    post->instance = link.instance;
    ucp_request_param_t params{};
    params.op_attr_mask =
        UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_FLAGS;
    if (immediate_) params.op_attr_mask |= UCP_OP_ATTR_FLAG_FORCE_IMM_CMPL;
    params.flags = UCP_AM_SEND_FLAG_EAGER;
    params.cb.send = on_posted;
    params.user_data = post.get();
    const ucs_status_ptr_t request =
        ucp_am_send_nbx(*endpoint, wire::kActiveMessage, &post->header, sizeof(post->header),
                        bytes.data(), bytes.size(), &params);
    if (UCS_PTR_IS_PTR(request)) {
        ++posted_;
        // on_posted() owns the post from now on.
        [[maybe_unused]] Post* lent = post.release();
        return Posting::pending;
    }
    give_post(std::move(post));
    const ucs_status_t status = UCS_PTR_RAW_STATUS(request);
    if (status == UCS_OK) return Posting::ended;
    if (status == UCS_ERR_NO_RESOURCE) return Posting::refused;
    peers_.fail(link, make_ucx_error(ErrorKind::unavailable, "send to the peer", status));
    return Posting::failed;
}

void UcxOutbox::on_posted(void* request, ucs_status_t status, void* argument) {
    auto* post = static_cast<Post*>(argument);
    ucp_request_free(request);
    post->outbox->end_post(post, status);
}

void UcxOutbox::end_post(Post* ended, ucs_status_t status) {
    std::unique_ptr<Post> post(ended);
    --posted_;
    if (status != UCS_OK) {
        if (UcxPeers::Link* link = peers_.find(post->instance))
            peers_.fail(*link, make_ucx_error(ErrorKind::unavailable, "send to the peer", status));
    }
    const uint64_t ticket = post->ticket;
    give_post(std::move(post));
    const auto send = sends_.find(ticket);
    if (send == sends_.end()) return;
    --send->second.posted;
    if (status != UCS_OK && !send->second.error) {
        send->second.error = make_ucx_error(
            ErrorKind::unavailable, fmt::format("send to peer {}", send->second.peer), status);
    }
    go_on(ticket, send->second);
}

std::unique_ptr<UcxOutbox::Post> UcxOutbox::take_post() {
    if (spare_posts_.empty()) {
        auto post = std::make_unique<Post>();
        post->outbox = this;
        return post;
    }
    std::unique_ptr<Post> post = std::move(spare_posts_.back());
    spare_posts_.pop_back();
    return post;
}

void UcxOutbox::give_post(std::unique_ptr<Post> post) {
    spare_posts_.push_back(std::move(post));
}

// Takes a send as far as it goes now. The send may be gone afterwards.
void UcxOutbox::go_on(uint64_t ticket, Send& send) {
    // One turn sends no more than a window, even while the wire takes everything, so that other
    // sends get their turn.
    for (unsigned turn = 0; send.accepted && !send.refused && !send.error && turn < kWindow;
         ++turn) {
        if (send.posted >= kWindow || send.next_offset == send.bytes.size()) break;
        const size_t size = std::min(segment_bytes_, send.bytes.size() - send.next_offset);
        wire::Header header = make_header(wire::Kind::data);
        header.ticket = send.receive_ticket;
        header.argument = send.next_offset;
        header.size = size;
        const Posting posting =
            post(send.peer, header, send.bytes.subspan(send.next_offset, size), ticket);
        if (posting == Posting::failed) {
            send.error = make_error(ErrorKind::unavailable, "peer {} is lost", send.peer);
            break;
        }
        send.next_offset += size;
        if (posting != Posting::ended) ++send.posted;
    }
    if (send.posted > 0) return;
    const bool done = send.accepted && send.next_offset == send.bytes.size();
    if (done || send.refused || send.error) {
        finish(ticket, send);
    } else if (send.accepted && !std::exchange(send.yielded, true)) {
        yielded_.push_back(ticket);
    }
}

void UcxOutbox::finish(uint64_t ticket, Send& send) {
    if (send.error) {
        completions_.push(std::move(send.completion), *send.error);
    } else {
        ++counters_.messages_sent;
        counters_.bytes_sent += send.bytes.size();
        completions_.push(std::move(send.completion), {});
    }
    sends_.erase(ticket);
}

}  // namespace pace::transports
