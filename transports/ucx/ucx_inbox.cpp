#include "transports/ucx/ucx_inbox.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/attempt.h"

namespace pace::transports {

using base::ErrorKind;
using base::make_error;

UcxInbox::UcxInbox(UcxPeers& peers, UcxOutbox& outbox, CompletionQueue& completions,
                   Transport::Counters& counters, const UcxOptions& options)
    : peers_(peers),
      outbox_(outbox),
      completions_(completions),
      counters_(counters),
      unexpected_bytes_max_(options.unexpected_bytes_max) {}

void UcxInbox::receive(Receive receive) {
    if (closed_.contains(receive.tag.exchange)) {
        completions_.push(std::move(receive.completion), canceled_by_close(receive.tag));
        return;
    }
    const MatchKey key = match_key(receive.peer, receive.tag);
    if (auto message = messages_.take(key)) {
        peers_.link(receive.peer).unexpected_bytes -= charge(message->bytes.size());
        match(std::move(receive), *message, message->bytes);
        return;
    }
    if (receives_.contains(key)) {
        completions_.push(std::move(receive.completion), already_posted(receive.tag, receive.peer));
        return;
    }
    receives_.put(key, std::move(receive));
}

void UcxInbox::close_exchange(uint64_t exchange) {
    closed_.add(exchange);
    for (Receive& receive : receives_.take_exchange(exchange))
        completions_.push(std::move(receive.completion), canceled_by_close(receive.tag));
    for (const Arrived& message : messages_.take_exchange(exchange)) {
        peers_.link(message.peer).unexpected_bytes -= charge(message.bytes.size());
        drop(message);
    }
}

void UcxInbox::on_message(std::span<const std::byte> header_untrusted,
                          std::span<const std::byte> bytes_untrusted) {
    wire::Header header;
    if (header_untrusted.size() != sizeof(header)) return;  // no instance to hold responsible
    std::memcpy(&header, header_untrusted.data(), sizeof(header));
    if (base::attempt([&] { on_message(header, bytes_untrusted); })) return;
    // UCX calls this method and knows no exceptions.
    UcxPeers::Link* link = peers_.find(header.instance);
    if (link != nullptr) peers_.fail(*link, base::out_of_memory());
}

void UcxInbox::on_message(const wire::Header& header, std::span<const std::byte> bytes_untrusted) {
    UcxPeers::Link* link = peers_.find(header.instance);
    if (link != nullptr) {
        link->heard = base::now();
        link->answered = link->answered || wire::is_answer(header.kind);
    }
    if (link == nullptr) {
        if (!peers_.departed(header.instance)) strangers_.keep(header, bytes_untrusted);
    } else if (link->peer) {
        dispatch(*link->peer, header, bytes_untrusted);
    } else if (header.kind == wire::Kind::offer) {
        outbox_.refuse(*link, header.ticket);
    } else if (header.kind == wire::Kind::eager) {
        took_eager(*link, bytes_untrusted.size());
    } else if (header.kind == wire::Kind::ping) {
        outbox_.pong(*link);
    }
}

void UcxInbox::on_connected(PeerId peer) {
    Strangers::Stranger stranger = strangers_.take(peers_.link(peer).instance);
    if (stranger.overflowed)
        fail(peer, "it sent more than is kept for an instance that is not connected yet");
    for (const Strangers::Message& message : stranger.messages)
        dispatch(peer, message.header, message.bytes);
}

void UcxInbox::end_peer(PeerId peer, const base::Error& error) {
    for (Receive& receive : receives_.take_peer(peer))
        completions_.push(std::move(receive.completion), error);
    for (const Arrived& message : messages_.take_peer(peer)) drop(message);
    peers_.link(peer).unexpected_bytes = 0;
    std::erase_if(arriving_, [&](auto& entry) {
        if (entry.second.receive.peer != peer) return false;
        completions_.push(std::move(entry.second.receive.completion), error);
        return true;
    });
}

void UcxInbox::dispatch(PeerId peer, const wire::Header& header, std::span<const std::byte> bytes) {
    switch (header.kind) {
        case wire::Kind::hello:
        case wire::Kind::pong:
            return;
        case wire::Kind::withdrawn:
            return end_withdrawn(peer, header.argument);
        case wire::Kind::ping:
            return outbox_.pong(peers_.link(peer));
        case wire::Kind::eager:
            if (bytes.size() != header.size)
                return fail(peer, "a message is not as long as it says");
            return take_in(peer, header, bytes);
        case wire::Kind::offer:
            if (!bytes.empty()) return fail(peer, "an offer carries bytes");
            return take_in(peer, header, bytes);
        case wire::Kind::accept:
            return outbox_.on_accept(peer, header.ticket, header.argument);
        case wire::Kind::refuse:
            return outbox_.on_refuse(peer, header.ticket);
        case wire::Kind::data:
            return take_data(peer, header, bytes);
        case wire::Kind::credit: {
            UcxPeers::Link& link = peers_.link(peer);
            link.eager_returned = std::clamp(header.argument, link.eager_returned, link.eager_sent);
            return;
        }
    }
    fail(peer, "it speaks a language that this version does not know");
}

void UcxInbox::take_in(PeerId peer, const wire::Header& header, std::span<const std::byte> bytes) {
    const Tag tag{header.exchange, header.slot, header.check};
    const MatchKey key = match_key(peer, tag);
    const bool offered = header.kind == wire::Kind::offer;
    const Arrived message{peer, tag, header.size, offered, header.ticket, {}};
    if (closed_.contains(header.exchange)) {
        drop(message);
    } else if (auto receive = receives_.take(key)) {
        match(std::move(*receive), message, bytes);
    } else {
        keep(key, header, bytes);
    }
}

void UcxInbox::keep(const MatchKey& key, const wire::Header& header,
                    std::span<const std::byte> bytes) {
    const PeerId peer = key.peer;
    size_t& unexpected_bytes = peers_.link(peer).unexpected_bytes;
    if (unexpected_bytes + charge(bytes.size()) > unexpected_bytes_max_)
        return fail(peer, fmt::format("it sent more than {} bytes that nobody has asked for",
                                      unexpected_bytes_max_));
    if (messages_.contains(key))
        return fail(peer, fmt::format("it sent slot {} of exchange {:016x} twice", header.slot,
                                      header.exchange));
    unexpected_bytes += charge(bytes.size());
    Arrived message{peer,          Tag{header.exchange, header.slot, header.check},
                    header.size,   header.kind == wire::Kind::offer,
                    header.ticket, {bytes.begin(), bytes.end()}};
    messages_.put(key, std::move(message));
}

void UcxInbox::match(Receive receive, const Arrived& message, std::span<const std::byte> bytes) {
    if (auto fits = check_fits(receive, message.tag, message.size); !fits) {
        completions_.push(std::move(receive.completion), std::move(fits));
        drop(message);
    } else if (message.offered && message.size > 0) {
        const uint64_t ticket = next_ticket_++;
        arriving_.emplace(ticket, Arriving{std::move(receive), 0});
        outbox_.accept(message.peer, message.offer_ticket, ticket);
    } else {
        std::copy(bytes.begin(), bytes.end(), receive.bytes.begin());
        complete(std::move(receive));
        drop(message);
    }
}

void UcxInbox::take_data(PeerId peer, const wire::Header& header,
                         std::span<const std::byte> bytes) {
    const auto entry = arriving_.find(header.ticket);
    if (entry == arriving_.end())
        return;  // the receive ended with an earlier connection to this instance
    Arriving& arriving = entry->second;
    const size_t size = arriving.receive.bytes.size();
    if (arriving.receive.peer != peer || header.argument > size ||
        bytes.size() > size - header.argument || bytes.size() > size - arriving.received)
        return fail(peer, "it sent bytes beyond what was asked for");
    std::copy(bytes.begin(), bytes.end(),
              arriving.receive.bytes.begin() + static_cast<ptrdiff_t>(header.argument));
    arriving.received += bytes.size();
    if (arriving.received < size) return;
    Receive receive = std::move(arriving.receive);
    arriving_.erase(entry);
    complete(std::move(receive));
}

void UcxInbox::end_withdrawn(PeerId peer, uint64_t ticket_untrusted) {
    const auto entry = arriving_.find(ticket_untrusted);
    if (entry == arriving_.end() || entry->second.receive.peer != peer) return;
    Receive receive = std::move(entry->second.receive);
    arriving_.erase(entry);
    completions_.push(std::move(receive.completion), withdrawn(receive.tag, peer));
}

void UcxInbox::complete(Receive receive) {
    ++counters_.messages_received;
    counters_.bytes_received += receive.bytes.size();
    completions_.push(std::move(receive.completion), {});
}

// The message is done with, received or not. Its sender may go on.
void UcxInbox::drop(const Arrived& message) {
    UcxPeers::Link& link = peers_.link(message.peer);
    if (message.offered) {
        outbox_.refuse(link, message.offer_ticket);
    } else {
        took_eager(link, message.size);
    }
}

void UcxInbox::took_eager(UcxPeers::Link& link, size_t bytes) {
    link.eager_taken += charge(bytes);
    if (link.eager_taken - link.eager_reported < peers_.eager_window() / 4) return;
    link.eager_reported = link.eager_taken;
    outbox_.credit(link);
}

void UcxInbox::fail(PeerId peer, std::string_view why) {
    peers_.fail(peer, make_error(ErrorKind::unavailable, "peer {} was given up: {}", peer, why));
}

}  // namespace pace::transports
