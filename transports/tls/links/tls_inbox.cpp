#include "transports/tls/links/tls_inbox.h"

#include <algorithm>
#include <utility>

namespace pace::transports::tls {

using base::ErrorKind;
using base::make_error;

TlsInbox::TlsInbox(TlsLinks& links, TlsOutbox& outbox, CompletionQueue& completions,
                   Transport::Counters& counters, const TlsOptions& options)
    : links_(links),
      outbox_(outbox),
      completions_(completions),
      counters_(counters),
      unexpected_bytes_max_(options.unexpected_bytes_max) {}

void TlsInbox::receive(Receive receive) {
    if (closed_.contains(receive.tag.exchange)) {
        completions_.push(std::move(receive.completion), canceled_by_close(receive.tag));
        return;
    }
    const MatchKey key = match_key(receive.peer, receive.tag);
    if (auto message = messages_.take(key)) {
        links_.link(receive.peer).unexpected_bytes -= charge(message->bytes.size());
        match(std::move(receive), *message);
        return;
    }
    if (receives_.contains(key)) {
        completions_.push(std::move(receive.completion), already_posted(receive.tag, receive.peer));
        return;
    }
    receives_.put(key, std::move(receive));
}

void TlsInbox::close_exchange(uint64_t exchange) {
    closed_.add(exchange);
    for (Receive& receive : receives_.take_exchange(exchange))
        completions_.push(std::move(receive.completion), canceled_by_close(receive.tag));
    for (const Arrived& message : messages_.take_exchange(exchange)) {
        TlsLink& link = links_.link(message.peer);
        link.unexpected_bytes -= charge(message.bytes.size());
        drop(link, message);
    }
}

void TlsInbox::on_frame(TlsLink& link, const Frame& frame, std::vector<std::byte>& payload) {
    switch (frame.kind) {
        case FrameKind::eager:
        case FrameKind::offer: {
            const bool offered = frame.kind == FrameKind::offer;
            return take_in(
                link,
                {link.peer.value_or(0), Tag{frame.exchange, frame.slot, frame.check}, frame.size,
                 offered, frame.ticket, offered ? std::vector<std::byte>() : std::move(payload)});
        }
        case FrameKind::accept:
            return outbox_.on_accept(link, frame.ticket, frame.argument);
        case FrameKind::refuse:
            return outbox_.on_refuse(link, frame.ticket);
        case FrameKind::credit:
            link.eager_returned = std::clamp(frame.argument, link.eager_returned, link.eager_sent);
            return;
        case FrameKind::ping:
            return outbox_.pong(link);
        case FrameKind::pong:
            return;
        case FrameKind::withdrawn:
            return end_withdrawn(link, frame.argument);
        case FrameKind::hello:
        case FrameKind::data:
            return fail(link, "it introduces itself twice");
    }
}

bool TlsInbox::on_data(TlsLink& link, const Frame& frame) {
    const auto entry = arriving_.find(frame.ticket);
    // The receive ended when its peer was disconnected.
    if (entry == arriving_.end() || entry->second.receive.peer != link.peer) return false;
    const Arriving& arriving = entry->second;
    const bool fits = frame.argument == arriving.received &&
                      frame.size <= arriving.receive.bytes.size() - arriving.received;
    if (!fits) fail(link, "it sent other bytes than what was asked for");
    return fits;
}

std::span<std::byte> TlsInbox::room_for(const TlsLink& link, const Frame& frame, size_t read) {
    const auto entry = arriving_.find(frame.ticket);
    if (entry == arriving_.end() || entry->second.receive.peer != link.peer) return {};
    const Arriving& arriving = entry->second;
    return arriving.receive.bytes.subspan(arriving.received, frame.size - read);
}

void TlsInbox::took_data(const Frame& frame, size_t bytes) {
    const auto entry = arriving_.find(frame.ticket);
    Arriving& arriving = entry->second;
    arriving.received += bytes;
    if (arriving.received < arriving.receive.bytes.size()) return;
    Receive receive = std::move(arriving.receive);
    arriving_.erase(entry);
    complete(std::move(receive));
}

void TlsInbox::take_in(TlsLink& link, Arrived message) {
    if (!link.peer || closed_.contains(message.tag.exchange)) return drop(link, message);
    if (auto receive = receives_.take(match_key(*link.peer, message.tag))) {
        match(std::move(*receive), message);
    } else {
        keep(link, std::move(message));
    }
}

void TlsInbox::keep(TlsLink& link, Arrived message) {
    const size_t bytes = charge(message.bytes.size());
    if (link.unexpected_bytes + bytes > unexpected_bytes_max_)
        return fail(link, fmt::format("it sent more than {} bytes that nobody has asked for",
                                      unexpected_bytes_max_));
    const MatchKey key = match_key(message.peer, message.tag);
    if (messages_.contains(key))
        return fail(link, fmt::format("it sent slot {} of exchange {:016x} twice", message.tag.slot,
                                      message.tag.exchange));
    link.unexpected_bytes += bytes;
    messages_.put(key, std::move(message));
}

void TlsInbox::match(Receive receive, const Arrived& message) {
    TlsLink& link = links_.link(message.peer);
    if (auto fits = check_fits(receive, message.tag, message.size); !fits) {
        completions_.push(std::move(receive.completion), std::move(fits));
        drop(link, message);
    } else if (message.offered && message.size > 0) {
        const uint64_t ticket = next_ticket_++;
        arriving_.emplace(ticket, Arriving{std::move(receive), 0});
        outbox_.accept(link, message.offer_ticket, ticket);
    } else {
        std::copy(message.bytes.begin(), message.bytes.end(), receive.bytes.begin());
        complete(std::move(receive));
        drop(link, message);
    }
}

void TlsInbox::end_withdrawn(const TlsLink& link, uint64_t ticket_untrusted) {
    const auto entry = arriving_.find(ticket_untrusted);
    if (entry == arriving_.end() || entry->second.receive.peer != link.peer) return;
    Receive receive = std::move(entry->second.receive);
    arriving_.erase(entry);
    completions_.push(std::move(receive.completion), withdrawn(receive.tag, receive.peer));
}

void TlsInbox::end_peer(PeerId peer, const base::Error& error) {
    TlsLink& link = links_.link(peer);
    for (Receive& receive : receives_.take_peer(peer))
        completions_.push(std::move(receive.completion), error);
    for (const Arrived& message : messages_.take_peer(peer)) drop(link, message);
    link.unexpected_bytes = 0;
    std::erase_if(arriving_, [&](auto& entry) {
        if (entry.second.receive.peer != peer) return false;
        completions_.push(std::move(entry.second.receive.completion), error);
        return true;
    });
}

void TlsInbox::complete(Receive receive) {
    ++counters_.messages_received;
    counters_.bytes_received += receive.bytes.size();
    completions_.push(std::move(receive.completion), {});
}

// The message is done with, received or not. Its sender may go on.
void TlsInbox::drop(TlsLink& link, const Arrived& message) {
    if (message.offered) {
        outbox_.refuse(link, message.offer_ticket);
    } else {
        took_eager(link, message.size);
    }
}

void TlsInbox::took_eager(TlsLink& link, uint64_t bytes) {
    link.eager_taken += charge(bytes);
    if (link.eager_taken - link.eager_reported < links_.eager_window() / 4) return;
    link.eager_reported = link.eager_taken;
    outbox_.credit(link);
}

void TlsInbox::fail(TlsLink& link, std::string_view why) {
    links_.fail(link, make_error(ErrorKind::unavailable, "it was given up: {}", why));
}

}  // namespace pace::transports::tls
