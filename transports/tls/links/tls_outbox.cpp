#include "transports/tls/links/tls_outbox.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "transports/receive.h"

namespace pace::transports::tls {

using base::ErrorKind;
using base::make_error;

namespace {

// Messages are copied for a connection up to this number of bytes. The others wait in the user's
// memory. A guess: the number is several times what the kernel takes at once.
constexpr size_t kCopiedBytesMax = size_t{256} * 1024;

}  // namespace

TlsOutbox::TlsOutbox(TlsLinks& links, CompletionQueue& completions, Transport::Counters& counters,
                     const TlsOptions& options)
    : links_(links),
      completions_(completions),
      counters_(counters),
      eager_bytes_max_(options.eager_bytes_max),
      segment_bytes_(options.segment_bytes),
      answers_bytes_max_(options.unexpected_bytes_max + kCopiedBytesMax),
      bytes_of_one_key_max_(options.bytes_of_one_key_max) {}

void TlsOutbox::send(PeerId peer, const Tag& tag, std::span<const std::byte> bytes,
                     Completion completion) {
    TlsLink& link = links_.link(peer);
    const uint64_t charge = bytes.size() + kEagerCharge;
    const bool eager = bytes.size() <= eager_bytes_max_ &&
                       link.eager_sent - link.eager_returned + charge <= link.eager_window;
    if (eager) link.eager_sent += charge;
    const uint64_t ticket = next_ticket_++;
    Frame frame;
    frame.kind = eager ? FrameKind::eager : FrameKind::offer;
    frame.slot = tag.slot;
    frame.check = tag.check;
    frame.exchange = tag.exchange;
    frame.size = bytes.size();
    frame.ticket = ticket;
    Send send;
    send.peer = peer;
    send.tag = tag;
    send.bytes = bytes;
    send.completion = std::move(completion);
    send.eager = eager;
    sends_.emplace(ticket, std::move(send));
    line_up(link, frame, ticket);
}

// Copies the message at once if there is room and no message before it waits.
void TlsOutbox::line_up(TlsLink& link, const Frame& frame, uint64_t ticket) {
    Output& output = link.output;
    links_.touch(link);
    if (!output.line.empty() || output.writer.waiting() >= kCopiedBytesMax) {
        output.line.push_back({frame, ticket});
        return;
    }
    if (frame.kind == FrameKind::offer) return output.writer.append(frame);
    output.writer.append(frame, sends_.at(ticket).bytes);
    finish(ticket);
}

void TlsOutbox::ping(PeerId peer) {
    TlsLink& link = links_.link(peer);
    if (has_work(link)) return;
    Frame frame;
    frame.kind = FrameKind::ping;
    answer(link, frame);
}

void TlsOutbox::accept(TlsLink& link, uint64_t offer_ticket, uint64_t receive_ticket) {
    Frame frame;
    frame.kind = FrameKind::accept;
    frame.ticket = offer_ticket;
    frame.argument = receive_ticket;
    answer(link, frame);
}

void TlsOutbox::refuse(TlsLink& link, uint64_t offer_ticket) {
    Frame frame;
    frame.kind = FrameKind::refuse;
    frame.ticket = offer_ticket;
    answer(link, frame);
}

void TlsOutbox::pong(TlsLink& link) {
    link.output.writer.append_pong();
    links_.touch(link);
}

void TlsOutbox::credit(TlsLink& link) {
    link.output.writer.append_credit(link.eager_taken);
    links_.touch(link);
}

void TlsOutbox::answer(TlsLink& link, const Frame& frame) {
    if (link.error) return;
    if (link.output.writer.waiting() > answers_bytes_max_) {
        links_.fail(
            link, make_error(ErrorKind::unavailable,
                             "it takes none of more than {} bytes of answers", answers_bytes_max_));
        return;
    }
    link.output.writer.append(frame);
    links_.touch(link);
}

void TlsOutbox::on_accept(TlsLink& link, uint64_t ticket_untrusted, uint64_t receive_ticket) {
    const auto send = sends_.find(ticket_untrusted);
    if (send == sends_.end()) {
        Frame frame;
        frame.kind = FrameKind::withdrawn;
        frame.argument = receive_ticket;
        return answer(link, frame);
    }
    if (send->second.peer != link.peer || send->second.asked || send->second.eager) return;
    send->second.asked = true;
    send->second.receive_ticket = receive_ticket;
    link.output.asked.push_back(ticket_untrusted);
    links_.touch(link);
}

void TlsOutbox::on_refuse(TlsLink& link, uint64_t ticket_untrusted) {
    const auto send = sends_.find(ticket_untrusted);
    if (send == sends_.end() || send->second.peer != link.peer || send->second.asked ||
        send->second.eager)
        return;
    finish(ticket_untrusted);
}

void TlsOutbox::close_exchange(uint64_t exchange) {
    std::vector<uint64_t> unasked;
    for (const auto& [ticket, send] : sends_)
        if (send.tag.exchange == exchange && !send.asked && !send.eager) unasked.push_back(ticket);
    std::sort(unasked.begin(), unasked.end());
    for (const uint64_t ticket : unasked) {
        Send& send = sends_.at(ticket);
        completions_.push(std::move(send.completion), canceled_by_close(send.tag));
        sends_.erase(ticket);
    }
}

void TlsOutbox::end_peer(PeerId peer, const base::Error& error, bool goes_on) {
    Output& output = links_.link(peer).output;
    output.line.clear();
    output.asked.clear();
    std::vector<uint64_t> tickets;
    for (const auto& [ticket, send] : sends_)
        if (send.peer == peer) tickets.push_back(ticket);
    std::sort(tickets.begin(), tickets.end());
    for (const uint64_t ticket : tickets) {
        if (goes_on) output.writer.copy_segment(ticket);
        completions_.push(std::move(sends_.at(ticket).completion), error);
        sends_.erase(ticket);
    }
}

bool TlsOutbox::has_work(const TlsLink& link) {
    const Output& output = link.output;
    return !output.writer.idle() || !output.line.empty() || !output.asked.empty();
}

bool TlsOutbox::write(TlsLink& link, size_t bytes_max) {
    FrameWriter& writer = link.output.writer;
    TlsConnection& connection = *link.out.connection;
    // Records that were not sent go first.
    if (connection.has_unsent() && !connection.may_write()) return false;
    size_t moved = 0;
    while (moved < bytes_max && connection.may_write() && !link.error) {
        const auto bytes = writer.next(TlsConnection::kRecordBytes);
        if (bytes.empty()) {
            if (!refill(link)) break;
            continue;
        }
        const auto [outcome, count] = connection.write(bytes, writer.has_more_than(bytes.size()));
        if (outcome == TlsConnection::Outcome::failed)
            links_.fail(link, make_error(ErrorKind::unavailable, "{}", connection.error()));
        if (outcome != TlsConnection::Outcome::moved) break;
        moved += count;
        if (const auto ticket = writer.wrote(count)) segment_written(link, *ticket);
        renew_key(link, count);
    }
    if (!link.error && connection.flush() == TlsConnection::Outcome::failed)
        links_.fail(link, make_error(ErrorKind::unavailable, "{}", connection.error()));
    return moved > 0;
}

// Takes the next frames to the writer. Returns false if there are none.
bool TlsOutbox::refill(TlsLink& link) {
    Output& output = link.output;
    while (!output.line.empty() && output.writer.waiting() < kCopiedBytesMax) {
        const Output::Lined lined = output.line.front();
        output.line.pop_front();
        // The send may have ended in the line.
        if (!sends_.contains(lined.ticket)) continue;
        if (lined.frame.kind == FrameKind::offer) {
            output.writer.append(lined.frame);
        } else {
            output.writer.append(lined.frame, sends_.at(lined.ticket).bytes);
            finish(lined.ticket);
        }
    }
    output.writer.refill();
    return begin_segment(link) || !output.writer.next().empty();
}

// Lets the large message whose turn it is write one segment.
bool TlsOutbox::begin_segment(TlsLink& link) {
    if (link.output.asked.empty()) return false;
    const uint64_t ticket = link.output.asked.front();
    link.output.asked.pop_front();
    Send& send = sends_.at(ticket);
    const size_t size = std::min(segment_bytes_, send.bytes.size() - send.next_offset);
    FrameWriter::Segment segment;
    segment.ticket = ticket;
    segment.header.kind = FrameKind::data;
    segment.header.ticket = send.receive_ticket;
    segment.header.argument = send.next_offset;
    segment.header.size = size;
    segment.bytes = send.bytes.subspan(send.next_offset, size);
    send.next_offset += size;
    link.output.writer.begin(segment);
    return true;
}

// The operation may have ended meanwhile.
void TlsOutbox::segment_written(TlsLink& link, uint64_t ticket) {
    const auto send = sends_.find(ticket);
    if (send == sends_.end()) return;
    if (send->second.next_offset == send->second.bytes.size()) return finish(ticket);
    link.output.asked.push_back(ticket);
}

void TlsOutbox::renew_key(TlsLink& link, size_t bytes) {
    link.out.key_bytes += bytes;
    if (link.out.key_bytes < bytes_of_one_key_max_) return;
    link.out.key_bytes = 0;
    if (!link.out.connection->renew_key())
        links_.fail(link, make_error(ErrorKind::unavailable, "TLS gives no fresh key"));
}

void TlsOutbox::finish(uint64_t ticket) {
    const auto send = sends_.find(ticket);
    ++counters_.messages_sent;
    counters_.bytes_sent += send->second.bytes.size();
    completions_.push(std::move(send->second.completion), {});
    sends_.erase(send);
}

}  // namespace pace::transports::tls
